"""Every decision of the operator, as pure functions: facts in, plan out.

Belongs here: facts, plans, status, invariants; rendering of objects in render/, chains of named checks in decide/.
Must not be here: await, clock, chance, environment, log. Time is a fact among the facts; the same facts give the
same plan, byte for byte. Imports only valkey and api.
"""
