"""The role labels of pods, by which the Service for reads finds them, and whom the one for writes leads to.

Owns: which label a pod gets. At most one pod is called primary: the one on record, once it says so itself. One that was
called so and is silent is called neither: no Service shall lead to it.
"""

from valkey_operator.core.shard.facts import Member, ShardFacts, is_parked, runs_as
from valkey_operator.valkey.info import Role

PRIMARY, REPLICA, UNKNOWN = "primary", "replica", "unknown"


def role_labels(facts: ShardFacts) -> dict[str, str]:
    """Node to role; a node that was not heard of keeps what it has, unless another one is primary now."""
    primary = elected(facts)
    others = [member for member in facts.members if member.name != facts.record.primary]
    roles = {member.name: _role(member, elected=primary is not None) for member in others}
    own = {primary: PRIMARY} if primary is not None else {}
    return {**own, **{name: role for name, role in roles.items() if role is not None}}


def elected(facts: ShardFacts) -> str | None:
    """The primary on record, if it takes writes."""
    primary = facts.member(facts.record.primary)
    view = primary.view if primary is not None else None
    return facts.record.primary if runs_as(view, Role.PRIMARY) and not (view and view.fenced) else None


def _role(member: Member, *, elected: bool) -> str | None:
    """Of one that is not primary; None: as it is."""
    if member.view is None:
        return UNKNOWN if elected and member.role_label == PRIMARY else None
    follows = runs_as(member.view, Role.REPLICA) and not is_parked(member.view)
    return REPLICA if elected or follows else None
