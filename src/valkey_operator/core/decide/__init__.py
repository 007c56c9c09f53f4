"""What to do next, and why, or what is being waited for.

Belongs here: one module per question (failover, rollout, scale ...), each an ordered chain of checks named after
what they find, so that the chain reads as its own specification.
Must not be here: how a fact was established, or how a step is carried out.
"""
