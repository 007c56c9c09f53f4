"""Of how many replicas a primary must be chosen so that one of them has every confirmed write.

Owns: that number. Refuses to know: who they are.
"""

from valkey_operator.core.shard.facts import ShardFacts


def heirs_needed(facts: ShardFacts) -> int:
    """Of k replicas that confirmed a write one must be among those chosen from, whoever is missing.

    Where fewer are left, none confirmed anything in this epoch; of what was before it somebody must have all.
    """
    listed = len(facts.record.promotable or ())
    return max(listed - max(facts.writing.min_replicas, 1) + 1, min(listed, 1))
