"""What a client of a cluster knows of it: the slot of a key, who owns which slots, and where a refusal points to.

Pure. A node is named by its host alone: all listen at the usual port.
"""

import binascii
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from faults.connection import Reply
from valkey_operator.valkey.slots import SLOT_COUNT, Slots

MOVED, ASK = "MOVED", "ASK"
# A shard gives its highest slots first when another one comes.
HIGHEST = 64


class Owned(NamedTuple):
    """A range of slots, and who serves it."""

    first: int
    last: int
    host: str


class SlotMap(NamedTuple):
    """The latest news come first."""

    owned: tuple[Owned, ...] = ()
    hosts: tuple[str, ...] = ()
    """All nodes, replicas too."""

    def owner_of(self, slot: int) -> str:
        """Nobody is an empty name."""
        return next((each.host for each in self.owned if each.first <= slot <= each.last), "")

    def moved(self, slot: int, host: str) -> "SlotMap":
        hosts = self.hosts if host in self.hosts else (*self.hosts, host)
        others = (each for each in self.owned if not each.first == each.last == slot)
        return SlotMap((Owned(slot, slot, host), *others), hosts)


class Redirect(NamedTuple):
    """Where a node sends a client: for good, or for one request."""

    slot: int
    host: str
    is_for_good: bool


def parse_slot_map(reply: Sequence[Any], asked: str) -> SlotMap:
    """Read CLUSTER SLOTS; a node that does not know its own address is where it was asked."""
    owned, hosts = [], dict[str, None]()
    for first, last, *nodes in reply:
        named = [str(node[0] or asked) for node in nodes]
        owned.append(Owned(int(first), int(last), named[0]))
        hosts |= dict.fromkeys(named)
    return SlotMap(tuple(owned), tuple(hosts))


def redirect_in(replies: Iterable[Reply]) -> Redirect | None:
    """The first one among the replies, if there is any."""
    for reply in replies:
        if reply.error in (MOVED, ASK):
            _, slot, address = str(reply.value).split(" ")[:3]
            return Redirect(int(slot), address.rpartition(":")[0], is_for_good=reply.error == MOVED)
    return None


def slot_of(key: str) -> int:
    """What stands in the first braces decides, if anything does."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    counted = tag if opened and closed and tag else key
    return binascii.crc_hqx(counted.encode(), 0) % SLOT_COUNT


def tag_among(slots: Slots) -> str:
    """A word whose slot is one of these."""
    return next(word for word in map(str, itertools.count()) if slot_of(word) in slots)


def tag_that_moves(slots: Slots) -> str:
    """One of those that a shard gives first."""
    return tag_among(slots.highest(HIGHEST))
