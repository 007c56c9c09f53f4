"""How our programs speak with each other and with kubelet: small HTTP pages, names in certificates, TLS from files.

Belongs here: what the operator and the agent must do in the same way, and what fits into the agent's memory.
Must not be here: what is said (proto) or why. Imports nothing else of this package.
"""
