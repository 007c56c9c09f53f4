"""The epochs of leave to write: when the next one is announced on record, who is told, and who gets none in it.

Owns: the changes of what the record says about leave, and the orders that follow. It is on record before anybody is
told, and each step is one that may be the last of a leader: the next one goes on with what is on record.

| what is seen                                            | what is done                                           |
| ------------------------------------------------------- | ------------------------------------------------------ |
| no leave on record, or a node that promised a later one | a first epoch, or one above all that was promised      |
| the spec asks for other witnesses                       | a new epoch; the former ones count until all are told  |
| most owners are lost, and some of them may live         | a new epoch without these                              |
| one that gets no leave is back, and took part in no     | it gets leave again                                    |
| dispute about its slots                                 |                                                        |
| somebody was not told                                   | it is bound                                            |

Refuses to know: what leave consists of (leave.py), and who takes over once it has run out (failover.py).
"""

from datetime import timedelta

import msgspec

from valkey_operator.core.cluster.facts import FailoverKind, Leave, Member, is_dead, runs
from valkey_operator.core.cluster.failover import WATCH_S, doubtful_owners
from valkey_operator.core.cluster.leave import can_be_kept, is_told, terms_of, witnesses_of
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import NOTHING, Bind, ClusterPlan, Reason, Remember, steps_only, wait_for
from valkey_operator.valkey.info import Role

LOOK_EVERY_S = 0.5


def keep_leave(cluster: Cluster) -> ClusterPlan:
    """One change of the record; where there is none to make, the orders that bind whom it is about."""
    leave = cluster.facts.record.leave
    if leave is None:
        return _remember(cluster, _first(cluster), Reason.WITNESSES, "nodes give each other leave to write")
    for change in (_outgrown, _settled, _given_again, _other_witnesses, _without_lost):
        plan = change(cluster, leave)
        if plan is not NOTHING:
            return plan
    return _orders(cluster, leave)


def _first(cluster: Cluster) -> Leave:
    """A record that was lost begins above all that was promised by those who are heard."""
    return Leave(epoch=_highest_promise(cluster) + 1, witnesses=_wanted(cluster))


def _outgrown(cluster: Cluster, leave: Leave) -> ClusterPlan:
    """Somebody promised more than this record ever said: one before it did."""
    highest = _highest_promise(cluster)
    if highest <= leave.epoch:
        return NOTHING
    changed = msgspec.structs.replace(leave, epoch=highest + 1)
    return _remember(cluster, changed, Reason.WITNESSES, "a record of before had given leave in later epochs")


def _settled(cluster: Cluster, leave: Leave) -> ClusterPlan:
    """Everybody is bound by the present terms: nobody writes by the leave of former witnesses, or without any."""
    members = cluster.facts.members
    if (leave.kept and not leave.former) or not members:
        return NOTHING
    if not all(is_told(cluster.facts, leave, each) for each in members):
        return NOTHING
    changed = msgspec.structs.replace(leave, former=(), kept=True)
    return _remember(cluster, changed, Reason.BOUND, "no node takes writes without leave of the present witnesses")


def _given_again(cluster: Cluster, leave: Leave) -> ClusterPlan:
    """Those that are back get leave again; they are told only once that is on record."""
    back = [name for name in leave.without if _may_have_leave(cluster, name)]
    if not back:
        return NOTHING
    changed = msgspec.structs.replace(leave, without=tuple(each for each in leave.without if each not in back))
    return _remember(cluster, changed, Reason.LEAVE_AGAIN, f"{', '.join(back)} may have leave to write again")


def _other_witnesses(cluster: Cluster, leave: Leave) -> ClusterPlan:
    """One change after the other: whoever is lost may have been told of the one before, and of no more.

    Not before most of the new ones can give leave, or all would depend on the operator.
    """
    wanted = _wanted(cluster)
    able = [each for each in cluster.facts.members if each.view is not None and each.view.promised_epoch > 0]
    are_most = 2 * sum(each.name in wanted for each in able) > len(wanted)
    if wanted == leave.witnesses or leave.former or leave.without or not are_most:
        return NOTHING
    changed = msgspec.structs.replace(leave, epoch=leave.epoch + 1, witnesses=wanted, former=leave.witnesses)
    return _remember(cluster, changed, Reason.WITNESSES, f"leave to write is given by {', '.join(wanted)}")


def _without_lost(cluster: Cluster, leave: Leave) -> ClusterPlan:
    """Only by what servers say of those that are lost, after their timeout: a look that failed proves little."""
    lost = doubtful_owners(cluster)
    names = {node.member for node in lost if node.member is not None}
    is_news = not names <= set(leave.without)
    is_said = all(node.member and (node.failed_for or node.suspected_by) for node in lost)
    if not (is_news and is_said and leave.kept):
        return NOTHING
    without = tuple(sorted({*leave.without, *names}))
    changed = msgspec.structs.replace(leave, epoch=leave.epoch + 1, without=without)
    message = f"most primaries are lost: {', '.join(sorted(names))} get no more leave to write"
    return _remember(cluster, changed, Reason.LEAVE_ENDS, message)


def _orders(cluster: Cluster, leave: Leave) -> ClusterPlan:
    facts = cluster.facts
    due = [each.name for each in _able(cluster, leave) if not is_told(facts, leave, each)]
    fenced = [name for name in leave.without if (member := facts.member(name)) is not None and runs(member)]
    waits = tuple(f"all that may have taken over from {name} to be heard of, before it takes writes" for name in fenced)
    steps = tuple(Bind(node=name, terms=terms_of(facts, leave, name)) for name in due)
    plan = wait_for(*waits, look_after_s=LOOK_EVERY_S if leave.without and doubtful_owners(cluster) else None)
    return msgspec.structs.replace(plan, steps=steps)


def _may_have_leave(cluster: Cluster, name: str) -> bool:
    """Whether nobody else may serve what it would write to: it has nothing, or nobody can have taken it."""
    member = cluster.facts.member(name)
    if member is None or member.view is None:
        return member is None
    if is_dead(member):
        # It starts as what it shall be then, and through the gate.
        return True
    if not runs(member) or member.seen is None:
        return False
    own = member.seen.myself
    if own.role is Role.REPLICA:
        return True
    is_owner = own.slots == cluster.view.slots_of(member)
    return is_owner and not _is_being_replaced(cluster, own.id) and not _may_be_replaced(cluster, member)


def _is_being_replaced(cluster: Cluster, node_id: str) -> bool:
    """Whether an order to replace it may still be on its way."""
    now = cluster.facts.now
    attempts = (each for each in cluster.facts.record.attempts if each.source == node_id)
    return any(now - each.at < timedelta(seconds=WATCH_S) for each in attempts if each.kind is not FailoverKind.PLANNED)


def _may_be_replaced(cluster: Cluster, owner: Member) -> bool:
    """Whether one that could take over has not said that it did not."""
    heirs = {each.name: each for each in (*cluster.replicas_of(owner), *cluster.facts.of_shard(owner.shard))}
    return any(not _has_said_what_it_owns(each) for each in heirs.values() if each is not owner)


def _has_said_what_it_owns(member: Member) -> bool:
    """One that runs is part of the view; one at the gate has a file, or starts as nobody."""
    if runs(member):
        return True
    return member.view is not None and is_dead(member) and (member.kept is None or not member.kept.myself.slots)


def _wanted(cluster: Cluster) -> tuple[str, ...]:
    facts = cluster.facts
    return witnesses_of(facts.name, facts.shards, facts.replicas)


def _highest_promise(cluster: Cluster) -> int:
    views = (each.view for each in cluster.facts.members)
    return max((view.promised_epoch for view in views if view is not None), default=0)


def _able(cluster: Cluster, leave: Leave) -> list[Member]:
    """Those who can be told, and kept to it."""
    members = cluster.facts.members if can_be_kept(cluster.facts, leave) else ()
    heard = [each for each in members if each.view is not None and each.view.keeps_terms]
    return [each for each in heard if each.name not in leave.without]


def _remember(cluster: Cluster, leave: Leave, reason: Reason, message: str) -> ClusterPlan:
    record = msgspec.structs.replace(cluster.facts.record, leave=leave)
    return steps_only(Remember(record=record, reason=reason, message=message))
