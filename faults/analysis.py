"""What follows from a history: writes that were lost, windows without writes, two primaries at once, reads gone back.

Pure. Where times leave two orders open, the harmless one is taken: what is found here did happen.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from faults.history import Outcome, Read, StatusSeen, Write, WriterLog

# No order makes a node primary, and the former one again, within so short a time.
SHORTEST_REIGN_S = 1.0


class Lost(NamedTuple):
    """Numbers of writes that were acknowledged and are not there, by what the client was told."""

    plain: tuple[int, ...]
    confirmed: tuple[int, ...]


class Window(NamedTuple):
    """A time without an accepted write."""

    since_s: float
    until_s: float

    @property
    def length_s(self) -> float:
        return self.until_s - self.since_s


class Overlap(NamedTuple):
    """Two servers that both took writes of one slot; `old` is the one that stopped first."""

    slot: int
    old: str
    new: str
    since_s: float
    until_s: float
    strays: int
    """Acknowledgements by the old one after the new one's first."""

    @property
    def length_s(self) -> float:
        return self.until_s - self.since_s


def lost(log: WriterLog, found: Collection[int]) -> Lost:
    """Which acknowledged writes of one writer are not among those that were found in the end."""
    there = set(found)
    missing = [write for write in log.writes if write.is_accepted and write.number not in there]
    return Lost(
        plain=tuple(write.number for write in missing if write.outcome is Outcome.ACCEPTED),
        confirmed=tuple(write.number for write in missing if write.outcome is Outcome.CONFIRMED),
    )


def windows(writes: Iterable[Write], since_s: float, until_s: float) -> list[Window]:
    """Every time between two accepted writes, and from the first moment and to the last one."""
    done = sorted(write.done_s for write in writes if write.is_accepted and since_s <= write.done_s <= until_s)
    return [Window(*pair) for pair in pairwise([since_s, *done, until_s])]


def longest(found: Iterable[Window]) -> Window:
    return max(found, key=lambda window: window.length_s)


class Stretch(NamedTuple):
    """Acknowledgements of one server for one slot, with no long time between any two."""

    slot: int
    server: str
    writes: tuple[Write, ...]

    @property
    def first_done_s(self) -> float:
        return min(write.done_s for write in self.writes)

    @property
    def last_effect_s(self) -> float:
        return max(write.effect_s for write in self.writes)


def stretches(accepted: Iterable[Write]) -> list[Stretch]:
    """The times in which each server took writes of each slot."""
    by_server: dict[tuple[int, str], list[list[Write]]] = {}
    for write in sorted(accepted, key=lambda each: each.effect_s):
        known = by_server.setdefault((write.slot, write.server), [])
        if not known or write.effect_s - known[-1][-1].done_s > SHORTEST_REIGN_S:
            known.append([])
        known[-1].append(write)
    return [Stretch(*of, tuple(each)) for of, known in by_server.items() for each in known]


def overlaps(accepted: Iterable[Write]) -> list[Overlap]:
    """Every two that took writes of one slot at one time: each took one certainly later than one of the other."""
    pairs = combinations(stretches(accepted), 2)
    return [overlap(one, other) for one, other in pairs if are_rivals(one, other) and are_interleaved(one, other)]


def are_rivals(one: Stretch, other: Stretch) -> bool:
    return one.slot == other.slot and one.server != other.server


def are_interleaved(one: Stretch, other: Stretch) -> bool:
    return one.first_done_s < other.last_effect_s and other.first_done_s < one.last_effect_s


def overlap(one: Stretch, other: Stretch) -> Overlap:
    old, new = sorted((one, other), key=lambda stretch: stretch.last_effect_s)
    since_s = max(old.first_done_s, new.first_done_s)
    strays = sum(write.effect_s > new.first_done_s for write in old.writes)
    return Overlap(old.slot, old.server, new.server, since_s, max(since_s, old.last_effect_s), strays)


def most_at_once(found: Sequence[Overlap], *, anybody: bool) -> int:
    """How many servers took writes of one slot at one time, at the worst."""
    if not anybody:
        return 0
    beside = Counter((each.slot, each.new) for each in found)
    return 1 + max(beside.values(), default=0)


def gone_back(reads: Iterable[Read]) -> int:
    """How many reads told an older number than a read of the same list that was over before they began."""
    by_slot: dict[int, list[Read]] = {}
    for read in reads:
        by_slot.setdefault(read.slot, []).append(read)
    return sum(gone_back_of_one(each) for each in by_slot.values())


def gone_back_of_one(reads: Sequence[Read]) -> int:
    ordered = sorted(reads, key=lambda read: read.sent_s)
    over = sorted(reads, key=lambda read: read.done_s)
    highest, index, count = 0, 0, 0
    for read in ordered:
        while over[index].done_s < read.sent_s:
            highest = max(highest, over[index].value)
            index += 1
        count += read.value < highest
    return count


def untrue_s(statuses: Sequence[StatusSeen], without_writes: Iterable[Window], grace_s: float) -> float:
    """How long the status said Ready though nobody had taken a write for longer than the grace."""
    total = 0.0
    for window in without_writes:
        begin = window.since_s + grace_s
        for seen, next_s in zip(statuses, [*(each.at_s for each in statuses[1:]), float("inf")], strict=True):
            if seen.state == "Ready":
                total += max(0.0, min(next_s, window.until_s) - max(seen.at_s, begin))
    return total


def changes(statuses: Iterable[StatusSeen]) -> int:
    """How often a status named another primary, of any shard, than before."""
    known: dict[str, str] = {}
    count = 0
    for shard, node in (named for seen in statuses for named in primaries_named(seen.primary)):
        count += known.setdefault(shard, node) != node
        known[shard] = node
    return count


def primaries_named(text: str) -> list[tuple[str, str]]:
    """Shards and their primaries, as a status names them; a Valkey that is no cluster has one shard, without a name."""
    words = [word.rpartition("=") for word in text.split()]
    return [(shard, node) for shard, _, node in words if node]
