"""The role labels of pods, by which the Services find them.

Owns: which label a pod gets. At most one pod is called primary: the one on record, once it says so itself. One that was
called so and is silent is called neither: no Service shall lead to it.
"""

from valkey_operator.core.shard.facts import Member, ShardFacts, is_parked, runs_as
from valkey_operator.valkey.info import Role

PRIMARY, REPLICA, UNKNOWN = "primary", "replica", "unknown"


def role_labels(facts: ShardFacts) -> dict[str, str]:
    """Node to role; a node that was not heard of keeps what it has, unless another one is primary now."""
    primary = facts.member(facts.record.primary)
    elected = primary is not None and runs_as(primary.view, Role.PRIMARY) and not (primary.view and primary.view.fenced)
    others = {member.name: _role(member, elected=elected) for member in facts.members if member is not primary}
    own = {primary.name: PRIMARY} if primary is not None and elected else {}
    return {**own, **{name: role for name, role in others.items() if role is not None}}


def _role(member: Member, *, elected: bool) -> str | None:
    """Of one that is not primary; None: as it is."""
    if member.view is None:
        return UNKNOWN if elected and member.role_label == PRIMARY else None
    follows = runs_as(member.view, Role.REPLICA) and not is_parked(member.view)
    return REPLICA if elected or follows else None
