"""Between the operator and the agents."""
