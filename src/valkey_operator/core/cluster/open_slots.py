"""Slots that an interrupted move has left open: finished where both ends live, closed where one is gone.

Owns: what becomes of each slot that a primary gives or takes key by key. The target is settled before the source, and
only once the source has no key left: whoever hears of a new owner deletes what it has of the slot. Refuses to know: why
slots move (migrate.py).
"""

from collections.abc import Iterator

from valkey_operator.core.cluster.facts import Member, runs
from valkey_operator.core.cluster.roles import Cluster, is_primary
from valkey_operator.core.cluster.steps import ClusterPlan, Migrate, MigrationKind, SettleSlots
from valkey_operator.core.cluster.view import NodeTruth
from valkey_operator.valkey.cluster_nodes import NodesView
from valkey_operator.valkey.slots import Slots, slot_range, union

Closing = SettleSlots | Migrate


def close_slots(cluster: Cluster) -> ClusterPlan:
    """The next step for each open slot, those of one sort together."""
    steps = [step for step in (*_given(cluster), *_taken(cluster)) if step.slots]
    late = [step for step in steps if isinstance(step, SettleSlots) and _is_outdated(cluster, step)]
    waits = tuple(f"{step.node} to learn what others have got, before it gets {step.slots}" for step in late)
    return ClusterPlan(steps=tuple(step for step in steps if step not in late), waits_for=waits)


def _is_outdated(cluster: Cluster, step: SettleSlots) -> bool:
    """Whether a node that gets a slot does not know yet what others have got.

    Slots of its own, as after a restart: its epoch would be raised by that, and it would have them back, with the data
    of then. Or that the giver's epoch was raised: its own would stay lower, and others would tell it that the slot is
    still the giver's, which has it no more. Then nobody has it, and its keys are deleted.
    """
    member = cluster.facts.member(step.node)
    if step.owner is None or member is None or member.seen is None:
        return False
    is_behind = bool((member.seen.myself.slots & cluster.view.disputed) - cluster.view.open_slots)
    givers = (each for each in cluster.view.nodes.values() if each.slots & step.slots and each.id != step.owner)
    return is_behind or any(_knows_older(member.seen, each) for each in givers)


def _knows_older(seen: NodesView, giver: NodeTruth) -> bool:
    line = seen.line(giver.id)
    return line is not None and line.epoch < giver.epoch


def _given(cluster: Cluster) -> Iterator[Closing]:
    """Slots that a node gives away: as far as they are still its own, they go on, or stay where the taker is gone."""
    for (name, peer), slots in cluster.view.giving.items():
        source = cluster.facts.member(name)
        if source is None:
            continue
        own = slots & cluster.view.slots_of(source)
        yield _close(source, (slots - own) & cluster.view.assigned)
        target = _living_primary(cluster, peer)
        if target is not None:
            ready = own & _taken_by(cluster, target) & _without_keys(source)
            yield SettleSlots(node=target.name, slots=ready, owner=peer)
            yield _go_on(cluster, source, target, own - ready)
        elif not cluster.view.is_partial and not _may_return(cluster, peer):
            yield _close(source, own)


def _taken(cluster: Cluster) -> Iterator[Closing]:
    """Slots that a node takes and nobody gives it: those with keys go on, those without are closed."""
    for (name, _), slots in cluster.view.taking.items():
        target = cluster.facts.member(name)
        if target is None:
            continue
        own = slots & cluster.view.slots_of(target)
        yield _close(target, own)
        if not cluster.view.is_partial:
            ownerless = slots & cluster.view.unassigned
            yield SettleSlots(node=name, slots=ownerless, owner=cluster.view.ids[name])
        for source in cluster.owners():
            ungiven = (slots & cluster.view.slots_of(source)) - _given_by(cluster, source) - own
            if runs(source):
                yield _close(target, ungiven & _without_keys(target))
                yield _go_on(cluster, source, target, ungiven & _with_keys(target))


def _close(member: Member, slots: Slots) -> Closing:
    return SettleSlots(node=member.name, slots=slots, owner=None)


def _go_on(cluster: Cluster, source: Member, target: Member, slots: Slots) -> Closing:
    return Migrate(
        source=source.name,
        target=target.name,
        source_id=cluster.view.ids[source.name],
        target_id=cluster.view.ids[target.name],
        target_address=target.address,
        slots=slots,
        kind=MigrationKind.KEY_BY_KEY,
    )


def _without_keys(member: Member) -> Slots:
    """Open slots of which it said that no key is there."""
    return union(slot_range(slot, slot) for slot, count in member.keys_in_slots.items() if count == 0)


def _with_keys(member: Member) -> Slots:
    return union(slot_range(slot, slot) for slot, count in member.keys_in_slots.items() if count > 0)


def _taken_by(cluster: Cluster, target: Member) -> Slots:
    return union(slots for (name, _), slots in cluster.view.taking.items() if name == target.name)


def _given_by(cluster: Cluster, source: Member) -> Slots:
    return union(slots for (name, _), slots in cluster.view.giving.items() if name == source.name)


def _living_primary(cluster: Cluster, node_id: str) -> Member | None:
    node = cluster.view.nodes.get(node_id)
    member = cluster.facts.member(node.member) if node else None
    return member if member is not None and runs(member) and is_primary(cluster.view, member) else None


def _may_return(cluster: Cluster, node_id: str) -> bool:
    """Whether a node that does not run as primary may still be one again, or be replaced by its replica."""
    node = cluster.view.nodes.get(node_id)
    member = cluster.facts.member(node.member) if node else None
    if node is None or (member is not None and runs(member)):
        return False
    return bool(node.slots or cluster.followers.get(node_id))
