"""A model of Valkey servers in cluster mode: what each knows, how it learns from others, how it is elected.

Owns: one server's table of the cluster and the rules by which it changes, as those of the real ones do.
Refuses to know: who reaches whom, time passing, and clients (cluster_world.py).
"""

from dataclasses import dataclass, field, replace

from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import Failing, NodeLine, NodesView, OpenSlot, SlotMigration
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import Slots

NOBODY = ""


@dataclass
class Entry:
    """What a server knows of one node."""

    role: Role = Role.PRIMARY
    primary: str = NOBODY
    epoch: int = 0
    slots: int = 0
    failing: Failing = Failing.NO
    heard: int = 0


@dataclass
class Server:
    """One server. `data` holds, for each slot that a client writes to, the writes as bits."""

    name: str
    id: str
    table: dict[str, Entry] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    current_epoch: int = 0
    voted_epoch: int = 0
    opens: dict[int, OpenSlot] = field(default_factory=dict)
    data: dict[int, int] = field(default_factory=dict)
    offset: int = 0
    whole: bool = False
    linked: bool = False
    fenced: bool = False
    bans: dict[str, int] = field(default_factory=dict)
    migrations: list[SlotMigration] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table.setdefault(self.id, Entry())
        self.names[self.id] = self.name

    @property
    def own(self) -> Entry:
        return self.table[self.id]

    def owners(self) -> list[str]:
        return [node_id for node_id, entry in self.table.items() if entry.slots]

    def learn(self, other: "Server", tick: int) -> None:
        """Know of another one, as after a handshake."""
        self.table[other.id] = Entry(heard=tick)
        self.names[other.id] = other.name

    def hear(self, sender: "Server", tick: int) -> None:
        """Take in what a sender says of itself; tell it where it is behind."""
        entry, told = self.table[sender.id], sender.own
        entry.heard, entry.failing = tick, Failing.NO
        entry.role, entry.primary = told.role, told.primary
        self.current_epoch = max(self.current_epoch, sender.current_epoch)
        if told.role is Role.REPLICA:
            entry.slots = 0
            return
        entry.epoch = told.epoch
        for node_id, slots, epoch in self.take(sender.id, told.slots, told.epoch):
            if node_id in sender.table:
                sender.table[node_id].epoch = max(sender.table[node_id].epoch, epoch)
                sender.take(node_id, slots, epoch)
        if self.own.role is Role.PRIMARY and self.own.epoch == told.epoch and sender.id > self.id:
            self.bump()

    def take(self, claimer: str, slots: int, epoch: int) -> list[tuple[str, int, int]]:
        """Believe a claim where it is newer; the result is what the claimer has missed."""
        missed, mine = [], self.own.slots
        wanted = slots & ~sum(1 << slot for slot, each in self.opens.items() if each.importing)
        for node_id, entry in self.table.items():
            common = entry.slots & wanted
            if node_id == claimer or not common:
                continue
            if entry.epoch < epoch:
                entry.slots &= ~common
                self._lost_to(node_id, claimer, slots, common)
            else:
                wanted &= ~common
                missed.append((node_id, entry.slots, entry.epoch))
        # Of a claimer everything is believed that nobody else has by a newer claim.
        self.table[claimer].slots = (self.table[claimer].slots & slots) | wanted
        if claimer != self.id and self.own.role is Role.PRIMARY:
            self._drop(mine & ~self.own.slots)
        return missed

    def _lost_to(self, loser: str, claimer: str, claimed: int, common: int) -> None:
        """Whoever lost everything to one who has nothing else was replaced by it: follow that one."""
        replaced = self.table[loser].slots == 0 and common == claimed
        if (replaced and self.own.role is Role.PRIMARY and loser == self.id) or (
            replaced and self.own.role is Role.REPLICA and loser == self.own.primary
        ):
            self.follow(claimer)

    def _drop(self, slots: int) -> None:
        """A primary deletes the keys of slots that it has lost."""
        for slot in [slot for slot in self.data if slots >> slot & 1]:
            del self.data[slot]
        for slot in [slot for slot, each in self.opens.items() if slots >> slot & 1 and not each.importing]:
            del self.opens[slot]

    def follow(self, primary: str) -> None:
        self.table[self.id] = Entry(role=Role.REPLICA, primary=primary)
        self.linked = False

    def bump(self) -> None:
        self.current_epoch += 1
        self.own.epoch = self.current_epoch

    def outrank(self) -> None:
        """Bump, but one that has the highest epoch it knows of keeps it."""
        if self.own.epoch == 0 or self.own.epoch != max(self.current_epoch, *(e.epoch for e in self.table.values())):
            self.bump()

    def promote(self, epoch: int) -> None:
        """Be primary of what its primary had."""
        former = self.own.primary
        slots = self.table[former].slots if former in self.table else 0
        if former in self.table:
            self.table[former].slots = 0
        self.current_epoch = max(self.current_epoch, epoch)
        self.table[self.id] = Entry(epoch=epoch, slots=slots)
        self.linked = False
        self.data = {slot: bits for slot, bits in self.data.items() if slots >> slot & 1 or slot in self.opens}

    def reset(self) -> None:
        self.table = {self.id: Entry(epoch=0 if self.own.role is Role.REPLICA else self.own.epoch)}
        self.data, self.opens, self.whole = {}, {}, False

    def view(self) -> NodesView:
        lines = {node_id: self._line(node_id, entry) for node_id, entry in self.table.items()}
        own = lines.pop(self.id)
        return NodesView(myself=own, others=tuple(lines.values()))

    def _line(self, node_id: str, entry: Entry) -> NodeLine:
        primary = self.table.get(entry.primary)
        epoch = primary.epoch if entry.role is Role.REPLICA and primary else entry.epoch
        return NodeLine(
            id=node_id,
            address=address_of(self.names[node_id]),
            hostname=self.names[node_id],
            role=entry.role,
            primary=entry.primary or None,
            epoch=epoch,
            failing=entry.failing,
            connected=entry.failing is Failing.NO,
            myself=node_id == self.id,
            slots=Slots(entry.slots),
            open_slots=tuple(self.opens.values()) if node_id == self.id else (),
        )

    def restarted(self, data: dict[int, int]) -> "Server":
        """The same node, by its nodes.conf, with the data that were on its disk."""
        table = {node_id: replace(entry, failing=Failing.NO) for node_id, entry in self.table.items()}
        taken = sum(1 << slot for slot, each in self.opens.items() if each.importing)
        kept = self.own.slots | taken if self.own.role is Role.PRIMARY else ~0
        return Server(
            name=self.name,
            id=self.id,
            table=table,
            names=dict(self.names),
            current_epoch=self.current_epoch,
            voted_epoch=self.voted_epoch,
            opens=dict(self.opens),
            data={slot: bits for slot, bits in data.items() if kept >> slot & 1},
            offset=self.offset,
        )


def address_of(name: str) -> Address:
    return Address(f"{name}.svc", 6379)
