"""What is told of the slots of a cluster: who serves them, who disagrees, what moves.

Owns: the words about slots, and the count of those that have moved. What nobody has observed is called unknown; two
nodes that say different things are both quoted. Refuses to know: the state that follows from it (cluster.py).
"""

from collections.abc import Iterable, Iterator

from valkey_operator.api.cluster import MigrationStatus
from valkey_operator.api.status import ConditionType
from valkey_operator.core.cluster.facts import is_dead, runs
from valkey_operator.core.cluster.migrate import slots_to_move
from valkey_operator.core.cluster.moving import under_way
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.slots import Move, moves_to
from valkey_operator.core.cluster.view import NodeTruth
from valkey_operator.core.status.conditions import Said
from valkey_operator.core.status.pace import with_pace
from valkey_operator.core.status.workload import said_of
from valkey_operator.valkey.slots import ALL_SLOTS, SLOT_COUNT, Slots, union

Coverage = tuple[bool | None, str, str]
"""Whether the slots are covered, why in one word, and why for people."""

MOST_RANGES = 16
"""That are written out: a cluster of many shards must fit into one object."""


def covered(cluster: Cluster) -> Said:
    """Whether every slot has an owner that serves it."""
    well = True, "AllSlotsServed", f"All {SLOT_COUNT} slots have an owner that serves them."
    holds, reason, message = _not_owned(cluster) or _not_served(cluster) or well
    return Said(ConditionType.SLOTS_COVERED, holds, reason, message)


def difference(cluster: Cluster) -> Said | None:
    """What nodes say against each other; None: they agree, or something moves and not all have heard of it yet."""
    sentences = list(_differences(cluster))
    if not sentences:
        return None
    silent = cluster.view.missing
    heard = f" {said_of(silent)} not heard of." if silent else ""
    return Said(ConditionType.VIEWS_DIFFER, True, "NodesDisagree", f"{' '.join(sentences)}{heard}")


def migration(cluster: Cluster, before: MigrationStatus | None) -> MigrationStatus | None:
    """Slots on their way, counted on from what was told before; so a target may change half-way."""
    remaining, now = still_to_move(cluster), _moving_now(cluster)
    if remaining is None:
        return before
    if not remaining and not now:
        return None
    moves = now or moves_to(cluster.held_slots(), cluster.facts.shards)
    moved_before, left_before = (before.moved or 0, before.remaining or 0) if before else (0, remaining)
    told = MigrationStatus(
        from_=_numbers(move.source for move in moves),
        to=_numbers(move.target for move in moves),
        slots=shown_slots(union(move.slots for move in now)) or None,
        moved=moved_before + max(0, left_before - remaining),
        remaining=remaining,
    )
    keys = sum(owner.keys or 0 for owner in cluster.owners())
    return with_pace(told, before, now=cluster.facts.now, keys=keys)


def still_to_move(cluster: Cluster) -> int | None:
    """How many slots are not yet where they shall be; None: not all are known to belong to our nodes."""
    is_whole = cluster.facts.record.formed and union(cluster.held_slots().values()) == ALL_SLOTS
    return slots_to_move(cluster) if is_whole else None


def shown_slots(slots: Slots) -> str:
    """As servers write them; of a set in very many pieces only the first ones, and the count."""
    ranges = str(slots).split()
    if len(ranges) <= MOST_RANGES:
        return " ".join(ranges)
    return f"{' '.join(ranges[:MOST_RANGES])} … ({len(slots)} slots)"


def _not_owned(cluster: Cluster) -> Coverage | None:
    view, formed = cluster.view, cluster.facts.record.formed
    if not view.spoke:
        return None, "NobodyAnswers", "No node tells who owns the slots."
    if view.unassigned and not formed:
        return False, "NotFormed", f"{len(view.unassigned)} of {SLOT_COUNT} slots have no owner yet."
    if lost := view.unassigned - _seen_with_an_owner(cluster):
        return False, "SlotsLost", _lost(cluster, lost)
    if view.unassigned:
        return None, "OwnerUnclear", f"Not all nodes have heard yet who owns the slots {shown_slots(view.unassigned)}."
    # Not false: the owner of the higher epoch serves them. It is often so for a moment when slots or primaries change.
    return (None, "SlotsDisputed", _disputed(cluster)) if view.disputed else None


def _not_served(cluster: Cluster) -> Coverage | None:
    owners = [node for node in cluster.view.nodes.values() if node.slots]
    if down := [node for node in owners if _is_down(cluster, node)]:
        return False, "OwnerDown", f"{_owned(down)} down, and nobody has taken over yet."
    if refusing := [node for node in owners if _refuses(cluster, node)]:
        return False, "OwnerRefuses", f"{_owned(refusing)} up, but clients get CLUSTERDOWN there."
    if silent := [node for node in owners if not _answers(cluster, node)]:
        return None, "OwnerSilent", f"{_owned(silent)} not heard of; whether clients are served there is unknown."
    return None


def _seen_with_an_owner(cluster: Cluster) -> Slots:
    """Slots that anybody sees with an owner: reports are not of one moment, and a slot that moves is lost to nobody."""
    views = [each.seen for each in cluster.facts.members if each.seen is not None and runs(each)]
    return union(line.slots for view in views for line in view.lines)


def _lost(cluster: Cluster, slots: Slots) -> str:
    none = f"The slots {shown_slots(slots)} ({len(slots)} of {SLOT_COUNT}) have no owner"
    if cluster.view.is_partial:
        return f"{none} that any node knows of; {said_of(cluster.view.missing)} not heard of, and may have them."
    return f"{none}: no node has them any more, and their keys are lost."


def _disputed(cluster: Cluster) -> str:
    disputed = cluster.view.disputed
    claims = [
        f"{each.name} (epoch {each.seen.myself.epoch})"
        for each in cluster.facts.members
        if each.seen is not None and runs(each) and each.seen.myself.slots & disputed
    ]
    return f"The slots {shown_slots(disputed)} are claimed by {' and '.join(claims)}; the highest epoch will win."


def _differences(cluster: Cluster) -> Iterator[str]:
    view, is_settled = cluster.view, cluster.facts.record.formed and not _is_moving(cluster)
    if view.disputed and is_settled:
        yield _disputed(cluster)
    elif view.dissenters and is_settled:
        verb = "sees" if len(view.dissenters) == 1 else "see"
        names = said_of(view.dissenters).rpartition(" ")[0]
        yield f"{names} {verb} other owners of slots than the others do."
    for node in view.strangers():
        if node.slots:
            yield f"{_name(node)} is none of our nodes, and owns the slots {shown_slots(node.slots)}."
    for nodes in view.collisions():
        if sum(bool(node.slots) for node in nodes) > 1:
            yield f"{' and '.join(_name(node) for node in nodes)} have the same epoch {nodes[0].epoch}."


def _is_moving(cluster: Cluster) -> bool:
    return bool(_moving_now(cluster)) or bool(still_to_move(cluster))


def _moving_now(cluster: Cluster) -> list[Move]:
    """Slots that a shard gives to another at this moment, in whichever way."""
    given = [(cluster.view.ids[name], peer, slots) for (name, peer), slots in cluster.view.giving.items()]
    atomic = [(each.source, each.target, each.slots) for _, each in under_way(cluster) if not each.importing]
    found = []
    for source_id, target_id, slots in (*given, *atomic):
        source, target = cluster.shard_of(source_id or ""), cluster.shard_of(target_id or "")
        if source is not None and target is not None:
            found.append(Move(source=source, target=target, slots=slots))
    return found


def _numbers(shards: Iterable[int]) -> str:
    return ", ".join(str(shard) for shard in sorted(set(shards)))


def _answers(cluster: Cluster, node: NodeTruth) -> bool:
    member = cluster.facts.member(node.member)
    return member is not None and runs(member)


def _is_down(cluster: Cluster, node: NodeTruth) -> bool:
    """Proven dead, or taken for failed by most; one that only we do not hear of may serve."""
    member = cluster.facts.member(node.member)
    return not _answers(cluster, node) and (bool(node.failed_for) or (member is not None and is_dead(member)))


def _refuses(cluster: Cluster, node: NodeTruth) -> bool:
    member = cluster.facts.member(node.member)
    return member is not None and runs(member) and not member.serves


def _owned(nodes: list[NodeTruth]) -> str:
    return said_of([f"{_name(node)} (slots {shown_slots(node.slots)})" for node in nodes])


def _name(node: NodeTruth) -> str:
    return node.member or f"{node.hostname or 'a node without a name'} ({node.id[:8]})"
