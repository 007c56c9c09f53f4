"""What a cluster node says of its cluster: CLUSTER NODES, CLUSTER INFO, CLUSTER GETSLOTMIGRATIONS, as typed values.

Owns: the formats, in the words of Valkey 8.0 to 9.1, and of nodes.conf, which is CLUSTER NODES with more behind each
address. Refuses to know: how the text was fetched, and whether what one node says is so.

A text that is not understood raises `ClusterError`, and nothing else is ever raised; unknown flags and fields are kept
out, so that a newer server is still read.
"""

import enum
import re
from collections.abc import Mapping, Sequence

import msgspec

from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.nodes_text import SUSPECTED
from valkey_operator.valkey.slots import NO_SLOTS, Slots, SlotsError, parse_slots, union

_NOBODY = "-"
_FIRST_SLOT_FIELD = 8
_ADDRESS = re.compile(r"(?P<host>.*):(?P<port>\d+)@(?P<bus>\d+)(?:,(?P<hostname>[^,]*))?(?:,.*)?")
_OPEN_SLOT = re.compile(r"\[(?P<slot>\d+)-(?P<way>[<>])-(?P<peer>[0-9a-f]{40})\]")
_ROLES = {"master": Role.PRIMARY, "slave": Role.REPLICA}
_VARIABLES = "vars"
_MYSELF = re.compile(r"^\S+ \S+ (?:\S+,)?myself[, ]")


class ClusterError(ValueError):
    """A reply that is not what a cluster node sends."""


class Failing(enum.StrEnum):
    """How one node thinks of another: `SUSPECTED` is its own doubt, `AGREED` that of most primaries."""

    NO = "no"
    SUSPECTED = "suspected"
    AGREED = "agreed"


class OpenSlot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot that a node is giving to a peer, or taking from it, key by key."""

    slot: int
    importing: bool
    peer: str


class NodeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One node as another sees it, or as it sees itself.

    `role` is None while the two shake hands. `epoch` of a replica is that of its primary. Only on its own line a node
    has open slots, a replica's among them since 8.0.
    """

    id: str
    address: Address | None
    hostname: str | None
    role: Role | None
    primary: str | None
    epoch: int
    failing: Failing
    connected: bool
    myself: bool
    slots: Slots
    open_slots: tuple[OpenSlot, ...] = ()
    bus_port: int = 0


class NodesView(msgspec.Struct, frozen=True, kw_only=True):
    """What one node knows of all, itself among them."""

    myself: NodeLine
    others: tuple[NodeLine, ...]

    @property
    def lines(self) -> tuple[NodeLine, ...]:
        """All of them, its own first."""
        return (self.myself, *self.others)

    def line(self, node_id: str | None) -> NodeLine | None:
        """What it knows of one."""
        return next((line for line in self.lines if line.id == node_id), None)


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a node thinks of the whole: `serves` is whether it answers clients."""

    serves: bool
    slots_assigned: int
    known_nodes: int
    size: int
    current_epoch: int
    my_epoch: int


class MigrationState(enum.StrEnum):
    """How an atomic migration stands; the server's many words for "under way" are one here."""

    UNDER_WAY = "under-way"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SlotMigration(msgspec.Struct, frozen=True, kw_only=True):
    """An atomic migration as its source or target remembers it, until that server ends.

    A replica of either tells only that there is one: `source` and `target` are None there.
    """

    name: str
    importing: bool
    source: str | None
    target: str | None
    slots: Slots
    state: MigrationState
    message: str
    updated_s: int


def parse_nodes(text: str) -> NodesView:
    """Read CLUSTER NODES, or nodes.conf."""
    lines = [_parse_line(line) for line in text.splitlines() if line and not line.startswith(_VARIABLES)]
    own = [line for line in lines if line.myself]
    if len(own) != 1:
        raise ClusterError(f"CLUSTER NODES has {len(own)} lines flagged myself; expected one")
    return NodesView(myself=own[0], others=tuple(line for line in lines if not line.myself))


def own_line(text: str) -> NodeLine:
    """What a node says of itself in CLUSTER NODES; the lines of all others are not even read."""
    line = next((line for line in text.splitlines() if _MYSELF.search(line)), None)
    if line is None:
        raise ClusterError("CLUSTER NODES has no line flagged myself")
    return _parse_line(line)


def parse_cluster_info(text: str) -> ClusterInfo:
    """Read CLUSTER INFO."""
    fields = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
    return ClusterInfo(
        serves=_field(fields, "cluster_state") == "ok",
        slots_assigned=_number(fields, "cluster_slots_assigned"),
        known_nodes=_number(fields, "cluster_known_nodes"),
        size=_number(fields, "cluster_size"),
        current_epoch=_number(fields, "cluster_current_epoch"),
        my_epoch=_number(fields, "cluster_my_epoch"),
    )


def parse_slot_migrations(reply: Sequence[Sequence[str | int]]) -> tuple[SlotMigration, ...]:
    """Read CLUSTER GETSLOTMIGRATIONS, in its order: the newest first."""
    return tuple(_parse_migration(entry) for entry in reply)


def parse_links(reply: Sequence[Sequence[str | int]]) -> frozenset[str]:
    """Read CLUSTER LINKS: the ids of nodes that have a link to this one, over which they send what they have to say."""
    links = [{str(name): str(value) for name, value in zip(each[::2], each[1::2], strict=False)} for each in reply]
    return frozenset(_field(link, "node") for link in links if _field(link, "direction") == "from")


def _parse_line(line: str) -> NodeLine:
    words = line.split()
    if len(words) < _FIRST_SLOT_FIELD:
        raise ClusterError(f"CLUSTER NODES has the line {line!r}; expected at least {_FIRST_SLOT_FIELD} words")
    flags = words[2].split(",")
    address, bus_port, hostname = _parse_address(words[1], flags)
    settled, moving = _parse_slot_words(words[_FIRST_SLOT_FIELD:])
    return NodeLine(
        id=words[0],
        address=address,
        hostname=hostname,
        role=next((_ROLES[flag] for flag in flags if flag in _ROLES), None),
        primary=None if words[3] == _NOBODY else words[3],
        epoch=_number({"config-epoch": words[6]}, "config-epoch"),
        failing=_failing(flags),
        connected=words[7] == "connected",
        myself="myself" in flags,
        slots=settled,
        open_slots=moving,
        bus_port=bus_port,
    )


def _parse_address(word: str, flags: list[str]) -> tuple[Address | None, int, str | None]:
    """Where a node is; one that has met nobody does not know its own host."""
    match = _ADDRESS.fullmatch(word)
    if not match:
        raise ClusterError(f"CLUSTER NODES has the address {word!r}; expected host:port@bus-port,hostname")
    known = match["host"] and "noaddr" not in flags
    address = Address(match["host"], int(match["port"])) if known else None
    return address, int(match["bus"]), match["hostname"] or None


def _failing(flags: list[str]) -> Failing:
    if "fail" in flags:
        return Failing.AGREED
    return Failing.SUSPECTED if SUSPECTED in flags else Failing.NO


def _parse_slot_words(words: list[str]) -> tuple[Slots, tuple[OpenSlot, ...]]:
    matches = {word: _OPEN_SLOT.fullmatch(word) for word in words}
    moving = tuple(
        OpenSlot(slot=int(match["slot"]), importing=match["way"] == "<", peer=match["peer"])
        for match in matches.values()
        if match
    )
    settled = [word for word, match in matches.items() if not match]
    return (_slots(" ".join(settled)) if settled else NO_SLOTS), moving


def _slots(text: str) -> Slots:
    try:
        return parse_slots(text)
    except SlotsError as problem:
        raise ClusterError(str(problem)) from None


def _parse_migration(entry: Sequence[str | int]) -> SlotMigration:
    fields = {str(name): str(value) for name, value in zip(entry[::2], entry[1::2], strict=False)}
    return SlotMigration(
        name=_field(fields, "name"),
        importing=_field(fields, "operation") == "IMPORT",
        source=fields.get("source_node"),
        target=fields.get("target_node"),
        slots=union(_slots(part) for part in _field(fields, "slot_ranges").split()),
        state=_migration_state(_field(fields, "state")),
        message=_field(fields, "message"),
        updated_s=_number(fields, "last_update_time"),
    )


def _migration_state(word: str) -> MigrationState:
    return MigrationState(word) if word in list(MigrationState) else MigrationState.UNDER_WAY


def _field(fields: Mapping[str, str], name: str) -> str:
    if name not in fields:
        raise ClusterError(f"the reply has no field {name!r}; expected it in every supported version of Valkey")
    return fields[name]


def _number(fields: Mapping[str, str], name: str) -> int:
    value = _field(fields, name)
    if not (value.isascii() and value.isdecimal()):
        raise ClusterError(f"{name!r} is {value!r}; expected a whole number")
    return int(value)
