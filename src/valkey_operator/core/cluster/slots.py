"""Which slots a shard shall have, and the fewest moves that lead there.

Owns: the first distribution (that of the API), the shares of a given number of shards, the moves between any two
distributions, and which of them go at the same time. Refuses to know: how slots are moved, and whether they may be now.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from valkey_operator.valkey.slots import NO_SLOTS, SLOT_COUNT, Slots, slot_range, union

Holder = TypeVar("Holder", str, int)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Slots that one shard gives to another, by their numbers."""

    source: int
    target: int
    slots: Slots


def first_slots(shards: int) -> list[Slots]:
    """The slots of each shard of a new cluster: neighbours, and the remainder goes to the first ones."""
    share, remainder = divmod(SLOT_COUNT, shards)
    found, start = [], 0
    for shard in range(shards):
        size = share + (1 if shard < remainder else 0)
        found.append(slot_range(start, start + size - 1))
        start += size
    return found


def wanted_counts(held: Mapping[int, Slots], shards: int) -> list[int]:
    """How many slots each shard shall have; those one more that have most by now, so that nothing moves for it."""
    share, remainder = divmod(sum(len(slots) for slots in held.values()), shards)
    by_size = sorted(range(shards), key=lambda shard: (-len(held.get(shard, NO_SLOTS)), shard))
    larger = set(by_size[:remainder])
    return [share + (1 if shard in larger else 0) for shard in range(shards)]


def moves_to(held: Mapping[int, Slots], shards: int) -> list[Move]:
    """The moves after which each of the first `shards` shards has its share, and no other has any.

    No slot moves that need not: as many as givers have too much. Where there is a choice a slot goes to the shard that
    a new cluster would give it, so that growing and shrinking again leads back to whole ranges.
    """
    wanted = wanted_counts(held, shards)
    surplus = {shard: slots for shard, slots in held.items() if len(slots) > _share(wanted, shard)}
    missing = {shard: wanted[shard] - len(held.get(shard, NO_SLOTS)) for shard in range(shards)}
    missing = {shard: count for shard, count in missing.items() if count > 0}
    homes = dict(enumerate(first_slots(shards)))
    given: dict[tuple[int, int], Slots] = {}
    for only_home in (True, False):
        for source in sorted(surplus):
            for target in sorted(missing):
                left = surplus[source]
                spare = len(left) - _share(wanted, source)
                fitting = left & homes[target] if only_home else left
                part = fitting.highest(min(spare, missing[target]))
                surplus[source] = left - part
                missing[target] -= len(part)
                if part:
                    given[source, target] = given.get((source, target), NO_SLOTS) | part
    return [Move(source=source, target=target, slots=slots) for (source, target), slots in sorted(given.items())]


def at_once(moves: Iterable[Move], busy: Iterable[int] = ()) -> list[Move]:
    """Those that can go at the same time: no shard gives or takes twice; the largest first."""
    taken, chosen = set(busy), []
    for move in sorted(moves, key=lambda each: (-len(each.slots), each.source, each.target)):
        if not taken & {move.source, move.target}:
            taken |= {move.source, move.target}
            chosen.append(move)
    return chosen


def covered(held: Mapping[Holder, Slots]) -> Slots:
    """All slots that anybody holds."""
    return union(held.values())


def _share(wanted: list[int], shard: int) -> int:
    return wanted[shard] if shard < len(wanted) else 0
