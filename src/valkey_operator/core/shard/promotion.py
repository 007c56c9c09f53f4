"""What makes a node that is on record as primary one.

Owns: the steps. Refuses to know: whether it has the data that were meant; its agent compares them before it obeys.
"""

from valkey_operator.core.shard.facts import Member, ShardFacts, is_parked, runs_as
from valkey_operator.core.shard.steps import Park, Promote, Release, Step
from valkey_operator.core.shard.terms import terms_of
from valkey_operator.valkey.info import Role


def promotion(facts: ShardFacts, primary: Member, *, replication_id: str, at_least_offset: int) -> tuple[Step, ...]:
    """Promote it, and drop the clients of the one before it."""
    # Whoever else was let in as primary takes no more writes before this one takes any.
    if rivals := [member.name for member in facts.others(primary.name) if runs_as(member.view, Role.PRIMARY)]:
        return tuple(Park(node=name) for name in rivals)
    order = Promote(
        node=primary.name, replication_id=replication_id, at_least_offset=at_least_offset, terms=terms_of(facts)
    )
    return (order, *(Release(node=member.name) for member in facts.members if _was_left(member)))


def _was_left(member: Member) -> bool:
    """Whether it was parked as the primary, and has its clients still."""
    return is_parked(member.view) and member.view is not None and member.view.copy.was_primary
