"""Replicas that are scaled in or restarted while replicas confirm writes: none takes a confirmed write with it.

Owns: until when such a replica counts, and one that has lost its memory by itself. It is detached, so that it confirms
nothing more and its offset is final; once those who stay have all of that, it may be forgotten. One at a time, so that
enough stay attached.
Refuses to know: how it is taken off the record (plan.py), and how its pod goes (members.py).
"""

from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.announcement import LOOK_EVERY_S
from valkey_operator.core.shard.facts import Member, ShardFacts, is_in_sync_with, is_parked, is_unbroken
from valkey_operator.core.shard.steps import LookAgain, Park, ShardPlan
from valkey_operator.core.shard.turns import candidate


def still_counts(facts: ShardFacts, primary: Member, member: Member) -> bool:
    """Whether a replica that shall go or be restarted may have what not all of those have who stay."""
    if member.name not in _parting(facts) or primary.view is None:
        return False
    if is_unbroken(member.view) and not is_parked(member.view):
        return True  # what was heard of it may be old
    return bool(_behind(facts, primary, _final_offset(member, primary.view)))


def stays_parked(facts: ShardFacts, member: Member) -> bool:
    """Whether a replica that goes must not be attached again: it would confirm writes."""
    is_going = not member.wanted or member.name == candidate(facts)
    return facts.writing.half_attached and is_going and is_parked(member.view)


def part(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    """The next step of one that shall go and still counts."""
    going = next((each for each in facts.members if still_counts(facts, primary, each)), None)
    if going is None or primary.view is None:
        return None
    if is_unbroken(going.view) and not is_parked(going.view):
        return ShardPlan(steps=(Park(node=going.name),))
    behind = _behind(facts, primary, _final_offset(going, primary.view))
    following = {each.name for each in behind if is_in_sync_with(each.view, primary)}
    if not following <= facts.just_asked:
        return ShardPlan(steps=tuple(LookAgain(node=name) for name in sorted(following)))
    names = ", ".join(each.name for each in behind)
    return ShardPlan(waits_for=f"{names} to have everything that {going.name} has confirmed", look_after_s=LOOK_EVERY_S)


def _final_offset(member: Member, primary: NodeView) -> int:
    """Up to where others must have come before it may go.

    What it has confirmed, its primary had before, also where it has lost that since.
    """
    view = member.view
    is_final = view is not None and is_parked(view) and view.whole and view.replication_id == primary.replication_id
    return view.offset if view is not None and is_final else primary.offset


def _parting(facts: ShardFacts) -> set[str]:
    """Who is on record and is to go, where others stay that could have confirmed what it did."""
    if not facts.writing.half_attached or not _staying(facts):
        return set()
    return {member.name for member in _listed(facts) if _is_to_go(facts, member)}


def _staying(facts: ShardFacts) -> list[Member]:
    return [member for member in _listed(facts) if not _is_to_go(facts, member)]


def _is_to_go(facts: ShardFacts, member: Member) -> bool:
    has_lost_all = member.view is not None and not member.view.whole
    return not member.wanted or has_lost_all or (member.name == candidate(facts) and is_unbroken(member.view))


def _listed(facts: ShardFacts) -> list[Member]:
    return [member for member in facts.members if member.name in (facts.record.promotable or ())]


def _behind(facts: ShardFacts, primary: Member, offset: int) -> list[Member]:
    """Of those who stay, the ones that are not known to have as much."""
    history = primary.view.replication_id if primary.view else None
    return [
        member
        for member in _staying(facts)
        if member.view is None
        or not (is_unbroken(member.view) and member.view.replication_id == history and member.view.offset >= offset)
    ]
