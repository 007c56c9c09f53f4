"""The role labels of pods, by which the Services find them.

Owns: which label a pod gets. At most one pod is called primary: the one on record, once it says so itself.
"""

from valkey_operator.core.shard.facts import ShardFacts, is_parked, runs_as
from valkey_operator.valkey.info import Role

PRIMARY, REPLICA = "primary", "replica"


def role_labels(facts: ShardFacts) -> dict[str, str]:
    """Node to role; a node that was not heard of keeps what it has, unless another one is primary now."""
    primary = facts.member(facts.record.primary)
    elected = primary is not None and runs_as(primary.view, Role.PRIMARY) and not (primary.view and primary.view.fenced)
    found: dict[str, str] = {}
    for member in facts.members:
        is_primary = primary is not None and member.name == primary.name
        if is_primary and elected:
            found[member.name] = PRIMARY
        elif elected or (runs_as(member.view, Role.REPLICA) and not is_parked(member.view)):
            found[member.name] = REPLICA
    return found
