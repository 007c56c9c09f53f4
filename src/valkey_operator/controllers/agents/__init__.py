"""The operator's end of the agents: who they are, what they report, and how they are given orders.

Belongs here: certificates of agents, reports that come in, orders that go out, for whichever controller needs them.
Must not be here: what follows from a report, and when an order is due (core); what the other end does (agent).
"""
