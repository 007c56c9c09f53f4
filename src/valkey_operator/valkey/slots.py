"""A set of hash slots as a value, and the text in which servers and people write it: `0-5461 5463`.

Owns: the arithmetic of sets of slots. Refuses to know: who owns them.

A set is one whole number with a bit for each slot: union, difference and count cost the same for one slot as for all.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

SLOT_COUNT = 16384

_PART = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


class SlotsError(ValueError):
    """A text that is no set of slots."""


class Slots(msgspec.Struct, frozen=True):
    """Some of the 16384 slots; empty ones are false."""

    mask: int = 0

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self.mask != 0

    def __len__(self) -> int:
        """How many there are."""
        return self.mask.bit_count()

    def __contains__(self, slot: int) -> bool:
        """Whether that one is among them."""
        return self.mask >> slot & 1 == 1

    def __iter__(self) -> Iterator[int]:
        """Each one, the lowest first."""
        for first, last in self.ranges():
            yield from range(first, last + 1)

    def __or__(self, other: "Slots") -> "Slots":
        """Those that are in either."""
        return Slots(self.mask | other.mask)

    def __and__(self, other: "Slots") -> "Slots":
        """Those that are in both."""
        return Slots(self.mask & other.mask)

    def __sub__(self, other: "Slots") -> "Slots":
        """Those that the other has not."""
        return Slots(self.mask & ~other.mask)

    def __str__(self) -> str:
        """As CLUSTER NODES writes it."""
        return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges())

    def __repr__(self) -> str:
        """Short: as a number it would be longer than Python is willing to write."""
        return f"Slots({str(self)!r})"

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The runs of neighbours, each by its first and last one."""
        rest, start = self.mask, 0
        while rest:
            gap = _trailing_zeros(rest)
            rest >>= gap
            run = _trailing_zeros(~rest)
            yield start + gap, start + gap + run - 1
            rest >>= run
            start += gap + run

    def lowest(self, count: int) -> "Slots":
        """At most that many, the lowest ones."""
        mask, left = 0, count
        for first, last in self.ranges():
            size = min(left, last - first + 1)
            mask |= _run(first, first + size - 1)
            left -= size
            if left <= 0:
                break
        return Slots(mask)

    def highest(self, count: int) -> "Slots":
        """At most that many, the highest ones."""
        return self - self.lowest(max(0, len(self) - count))


def slot_range(first: int, last: int) -> Slots:
    """All from the first to the last, both included."""
    return Slots(_run(first, last))


def union(parts: Iterable[Slots]) -> Slots:
    """Those that are in any of them."""
    mask = 0
    for part in parts:
        mask |= part.mask
    return Slots(mask)


def parse_slots(text: str) -> Slots:
    """Read `0-5461 5463`; raises SlotsError."""
    return union(_parse_part(part) for part in text.split())


def _parse_part(part: str) -> Slots:
    match = _PART.fullmatch(part)
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
        if first <= last < SLOT_COUNT:
            return slot_range(first, last)
    raise SlotsError(f"{part!r} is no range of slots; expected such as 0-5461, with 0 to {SLOT_COUNT - 1}")


def _run(first: int, last: int) -> int:
    return ((1 << (last - first + 1)) - 1) << first


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


NO_SLOTS = Slots()
ALL_SLOTS = slot_range(0, SLOT_COUNT - 1)
