"""Of how many replicas a primary must be chosen so that one of them has every confirmed write.

Owns: that number. Refuses to know: who they are.
"""

from valkey_operator.core.shard.facts import ShardFacts


def heirs_needed(facts: ShardFacts) -> int:
    """Of k replicas that confirmed a write one must be among those chosen from, whoever is missing."""
    return len(facts.record.promotable or ()) - max(facts.writing.min_replicas, 1) + 1
