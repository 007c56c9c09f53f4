"""On which terms a primary writes: by the record, by the spec, and while either changes.

Owns: the terms. Refuses to know: when a primary is told (plan.py).

Whoever promotes needs more than half of the replicas on record, the primary needs half of those it knows of, and the
two must never miss each other: so a primary is bound by both lists while the record changes from one to the other.
"""

from collections.abc import Sequence

from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.valkey.terms import Terms


def terms_between(facts: ShardFacts, before: Sequence[str] | None, after: Sequence[str] | None) -> Terms:
    """The terms while the list of those who could take over changes."""
    rules = facts.writing
    sets = tuple(sorted({tuple(sorted(each)) for each in (before, after) if each}))
    half = max(((len(members) + 1) // 2 for members in sets), default=0) if rules.half_attached else 0
    return Terms(
        sets=sets,
        fence_after_ms=rules.fence_after_ms,
        missed_after_ms=rules.missed_after_ms,
        least_replicas=max(rules.min_replicas, half),
    )


def terms_of(facts: ShardFacts) -> Terms:
    """The terms by the record as it is."""
    return terms_between(facts, facts.record.promotable, facts.record.promotable)
