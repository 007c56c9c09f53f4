"""Version 1, the only one so far; agent.proto says what may be changed in it."""
