"""Builders of a cluster's facts: sound examples, of which a test names only what it is about.

A `Told` is a node as everybody sees it, itself too; `formed()` is a whole cluster of them, in which c-0-0, c-1-0, … are
primaries. What single nodes see otherwise is given with `sees`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, Leave, Member
from valkey_operator.core.cluster.leave import terms_of, witnesses_of
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import Failing, NodeLine, NodesView, OpenSlot
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import NO_SLOTS, Slots, parse_slots
from valkey_operator.valkey.states import Health, ProcessState

_SETTLED = object()
NOW = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A node, and what it says of itself."""

    name: str
    id: str = ""
    primary: str | None = None
    """The name of the node that it follows."""
    epoch: int = 0
    slots: Slots = NO_SLOTS
    gives: Mapping[int, str] = {}
    takes: Mapping[int, str] = {}
    """Open slots, and the names of the others."""
    failing: Failing = Failing.NO
    process: ProcessState | None = ProcessState.RUNNING
    """None: nothing is heard of it."""
    linked: bool = True
    whole: bool = True
    offset: int = 100
    version: str = "9.1.2"
    copy: CopyView = CopyView()
    knows: frozenset[str] | None = None
    """The names of all whom it knows; None: everybody."""
    sees: Mapping[str, Mapping[str, Any]] = {}
    """What it sees otherwise than the others do: by name, the changed fields of a line."""
    has_file: bool = True
    """Whether it has a nodes.conf."""
    bound: bool = True
    """Whether it needs leave to write, by the terms of the record."""
    keeps_terms: bool = True
    """Whether its agent is one that can keep it to them."""
    promised: int | None = None
    """The epoch of leave that it has promised; None: the present one."""
    member: Mapping[str, Any] = {}
    """What else is known of the member."""

    @property
    def node_id(self) -> str:
        return self.id or id_of(self.name)


World = dict[str, Told]


def id_of(name: str) -> str:
    return name.replace("-", "").encode().hex().ljust(40, "0")


def address_of(name: str) -> Address:
    return Address(f"{name}.svc", 6379)


def formed(shards: int = 3, replicas: int = 2) -> World:
    """A cluster in which all is well."""
    world: World = {}
    for shard, slots in enumerate(first_slots(shards)):
        first = f"c-{shard}-0"
        world[first] = Told(name=first, epoch=shard + 1, slots=slots)
        for index in range(1, replicas):
            name = f"c-{shard}-{index}"
            world[name] = Told(name=name, primary=first)
    return world


def unformed(shards: int = 3, replicas: int = 2) -> World:
    """Nodes that have met nobody."""
    return {name: lonely(name) for name in formed(shards, replicas)}


def lonely(name: str, **changes: Any) -> Told:
    return msgspec.structs.replace(Told(name=name, knows=frozenset()), **changes)


def with_node(world: World, name: str, **changes: Any) -> World:
    """The same cluster with one node otherwise, or with one more."""
    return {**world, name: msgspec.structs.replace(world.get(name, Told(name=name)), **changes)}


def all_nodes(world: World, **changes: Any) -> World:
    """The same cluster with every node otherwise."""
    return {name: msgspec.structs.replace(told, **changes) for name, told in world.items()}


def without(world: World, *names: str) -> World:
    return {name: told for name, told in world.items() if name not in names}


def slots(text: str) -> Slots:
    return parse_slots(text)


def facts(world: World, **changes: Any) -> ClusterFacts:
    """As the operator would gather them. Nodes whose names are not c-<shard>-<index> are strangers: no members.

    Leave to write is on record and known to all, unless a test says otherwise, with `leave` or of its nodes.
    """
    leave = changes.pop("leave", _SETTLED)
    names = [name for name in world if name.startswith("c-")]
    places = {name: tuple(map(int, name.split("-")[1:])) for name in names}
    given = ClusterFacts(
        name="c",
        record=ClusterRecord(formed=True),
        members=(),
        shards=changes.get("shards", 3),
        replicas=changes.get("replicas", 2),
        now=NOW,
    )
    given = msgspec.structs.replace(given, **changes)
    if leave is _SETTLED:
        witnesses = witnesses_of(given.name, given.shards, given.replicas)
        leave = given.record.leave or Leave(epoch=1, witnesses=witnesses, kept=True)
    given = msgspec.structs.replace(given, record=msgspec.structs.replace(given.record, leave=leave))
    members = [_member(world, name, given) for name in sorted(names, key=lambda each: places[each])]
    return msgspec.structs.replace(given, members=tuple(members))


def _member(world: World, name: str, asked: ClusterFacts) -> Member:
    told = world[name]
    shard, index = map(int, name.split("-")[1:])
    view = nodes_view(world, name) if told.has_file else None
    known = Member(
        name=name,
        shard=shard,
        index=index,
        wanted=shard < asked.shards and index < asked.replicas,
        hostname=name,
        address=address_of(name),
        pod_ready=told.process is ProcessState.RUNNING,
        view=_bound(told, asked),
        seen=view if told.process is ProcessState.RUNNING else None,
        kept=view if told.process is ProcessState.WAITING else None,
        serves=told.process is ProcessState.RUNNING,
        keys=0,
    )
    return msgspec.structs.replace(known, **told.member)


def _bound(told: Told, asked: ClusterFacts) -> NodeView | None:
    view, leave = _report(told), asked.record.leave
    if view is None or leave is None:
        return view
    return msgspec.structs.replace(
        view,
        keeps_terms=told.keeps_terms,
        promised_epoch=leave.epoch if told.promised is None else told.promised,
        terms=terms_of(asked, leave, told.name) if told.bound else None,
    )


def _report(told: Told) -> NodeView | None:
    if told.process is None:
        return None
    base = NodeView(pod_uid="uid", boot_id="boot", seq=1, process=told.process, copy=told.copy)
    if told.process is not ProcessState.RUNNING:
        return base
    link = LinkView(primary=address_of(told.primary), up=told.linked) if told.primary else None
    return msgspec.structs.replace(
        base,
        health=Health.ANSWERS,
        version=told.version,
        role=Role.REPLICA if told.primary else Role.PRIMARY,
        offset=told.offset,
        link=link,
        whole=told.whole,
    )


def nodes_view(world: World, viewer: str) -> NodesView:
    """CLUSTER NODES of one of them."""
    told = world[viewer]
    known = [name for name in world if name != viewer and (told.knows is None or name in told.knows)]
    others = [msgspec.structs.replace(_line(world, name), **told.sees.get(name, {})) for name in known]
    own = msgspec.structs.replace(
        _line(world, viewer), myself=True, failing=Failing.NO, connected=True, open_slots=_open_slots(world, told)
    )
    return NodesView(myself=own, others=tuple(others))


def _line(world: World, name: str) -> NodeLine:
    told = world[name]
    primary = world.get(told.primary) if told.primary else None
    return NodeLine(
        id=told.node_id,
        address=address_of(name),
        hostname=name,
        role=Role.REPLICA if told.primary else Role.PRIMARY,
        primary=primary.node_id if primary else None,
        epoch=primary.epoch if primary else told.epoch,
        failing=told.failing,
        connected=told.failing is Failing.NO,
        myself=False,
        slots=told.slots,
    )


def _open_slots(world: World, told: Told) -> tuple[OpenSlot, ...]:
    given = [OpenSlot(slot=slot, importing=False, peer=world[name].node_id) for slot, name in told.gives.items()]
    taken = [OpenSlot(slot=slot, importing=True, peer=world[name].node_id) for slot, name in told.takes.items()]
    return (*given, *taken)
