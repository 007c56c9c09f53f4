"""That every node knows every other, at the address it has now.

Owns: who is told to meet whom, and the epoch that a new node gets before it meets anybody: afterwards it refuses one.
Meeting again destroys nothing, so it is done on a partial view too.

A server that finds data and no nodes.conf takes the slots of its keys for its own. With a new epoch it would have them,
and with them the data of then; without one it loses both to whoever has got them since.
Refuses to know: who gets slots.
"""

from collections.abc import Mapping

import msgspec

from valkey_operator.core.cluster.facts import Member, runs
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import ClusterPlan, Meet, SetConfigEpoch, Step
from valkey_operator.core.cluster.view import ClusterView, NodeTruth
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import Failing, NodeLine

MEETS_AT_ONCE = 16
"""By one node: more than enough for a cluster in which gossip does the rest."""


def connect(cluster: Cluster) -> ClusterPlan:
    """New nodes get their epochs; everybody else meets whom it does not know, or knows elsewhere."""
    running = [each for each in cluster.facts.members if runs(each)]
    new = [each for each in running if is_new(each) and not _successors(cluster, each)]
    known = [each for each in running if not is_new(each) or (_successors(cluster, each) and not _lost(cluster, each))]
    waits = tuple(_wait(cluster, each) for each in running if is_new(each) and _lost(cluster, each))
    return ClusterPlan(steps=(*_first_epochs(cluster.view, new), *_meetings(known)), waits_for=waits)


def is_new(member: Member) -> bool:
    """Whether it has met nobody, and has no epoch."""
    return member.seen is not None and not member.seen.others and member.seen.myself.epoch == 0


def _successors(cluster: Cluster, member: Member) -> list[NodeTruth]:
    """Who else owns slots that it takes for its own; not the node that it was itself."""
    own = member.seen.myself if member.seen else None
    if own is None or not cluster.facts.record.formed:
        return []
    others = (node for node in cluster.view.nodes.values() if node.id != own.id and node.hostname != member.hostname)
    return [node for node in others if node.slots & own.slots]


def _lost(cluster: Cluster, member: Member) -> list[NodeTruth]:
    """Those of them that do not run: nobody gives up a copy for theirs."""
    owners = [(node, cluster.facts.member(node.member)) for node in _successors(cluster, member)]
    return [node for node, owner in owners if owner is None or not runs(owner)]


def _wait(cluster: Cluster, member: Member) -> str:
    owner = _lost(cluster, member)[0]
    return f"{owner.member or owner.hostname or owner.id} to run, before {member.name} gives up its older copy"


def _first_epochs(view: ClusterView, new: list[Member]) -> list[Step]:
    highest = max((node.epoch for node in view.nodes.values()), default=0)
    in_order = sorted(new, key=lambda each: (each.index, each.shard))
    return [SetConfigEpoch(node=each.name, epoch=highest + number) for number, each in enumerate(in_order, start=1)]


def _meetings(members: list[Member]) -> list[Step]:
    """Each pair is told once; whom it meets learns of it by that."""
    books = [AddressBook.of(each) for each in members]
    steps: list[Step] = []
    for number, book in enumerate(books):
        peers = [other.address for other in books[:number] if other.address and _should_meet(book, other)]
        if peers:
            steps.append(Meet(node=book.name, peers=tuple(peers[:MEETS_AT_ONCE])))
    return steps


class AddressBook(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a node knows, and with whom it shakes hands."""

    name: str
    id: str | None
    address: Address | None
    lines: Mapping[str, NodeLine]
    greeted: frozenset[Address | None]

    @classmethod
    def of(cls, member: Member) -> "AddressBook":
        """The one of a member."""
        others = member.seen.others if member.seen else ()
        return cls(
            name=member.name,
            id=member.seen.myself.id if member.seen else None,
            address=member.address,
            lines={line.id: line for line in others},
            greeted=frozenset(line.address for line in others if line.role is None),
        )


def _should_meet(one: AddressBook, other: AddressBook) -> bool:
    return _has_lost(one, other) or _has_lost(other, one)


def _has_lost(book: AddressBook, peer: AddressBook) -> bool:
    """Whether it does not know a peer that runs, or only where that is not any more; and is not about to."""
    if peer.address in book.greeted:
        return False
    line = book.lines.get(peer.id or "")
    if line is None:
        return True
    moved = line.address != peer.address and not line.connected
    return moved or (line.failing is not Failing.NO and line.address is None)
