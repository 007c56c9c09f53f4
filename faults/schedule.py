"""Which faults come when: drawn from a seed, so that any run can be had again.

Pure. It knows how long each kind may last, and not what a kind does.
"""

import itertools
from collections.abc import Collection, Mapping
from random import Random
from typing import NamedTuple

STORM = "storm"
STORM_FAULTS = (4, 7)
STORM_S = 40.0
# Before the first fault, so that every client is well under way.
LEAD_S = 2.0
VARIANTS = 1 << 16
QUORUM_EVERY = 4


class Lasting(NamedTuple):
    """How long a kind of fault lasts, at least and at most; 0 where it is over at once."""

    shortest_s: float
    longest_s: float


class Planned(NamedTuple):
    """One fault of a run; `variant` is what a kind draws its own choices from."""

    kind: str
    at_s: float
    lasts_s: float
    variant: int


class Plan(NamedTuple):
    """A run, before it happens."""

    kind: str
    seed: int
    durability: str
    faults: tuple[Planned, ...]


def plan(kind: str, seed: int, catalogue: Mapping[str, Lasting]) -> Plan:
    """The same for the same kind and seed."""
    chance = Random(f"{kind} {seed}")  # noqa: S311 - seeded chance is what a replay needs
    names = sorted(catalogue)
    chosen = chance.choices(names, k=chance.randint(*STORM_FAULTS)) if kind == STORM else [kind]
    spread_s = STORM_S if kind == STORM else 1.0
    faults = [draw(chance, each, catalogue[each], spread_s) for each in chosen]
    ordered = tuple(sorted(faults, key=lambda fault: fault.at_s))
    return Plan(kind, seed, durability_of(seed), ordered)


def durability_of(seed: int) -> str:
    """Available is the default, and what most runs are about."""
    return "Quorum" if seed % QUORUM_EVERY == 0 else "Available"


def draw(chance: Random, kind: str, lasting: Lasting, spread_s: float) -> Planned:
    at_s = LEAD_S + chance.uniform(0, spread_s)
    return Planned(kind, round(at_s, 3), round(chance.uniform(*lasting), 3), chance.randrange(VARIANTS))


def next_run(seeds: Mapping[str, Collection[int]], durability: str | None = None) -> tuple[str, int]:
    """The kind with the fewest runs, and a seed it has not had; kinds with as many runs come in the order given.

    With a durability, only runs of that one count.
    """

    def counts(seed: int) -> bool:
        return durability in (None, durability_of(seed))

    kind = min(seeds, key=lambda name: sum(map(counts, seeds[name])))
    later = itertools.count(max(seeds[kind], default=0) + 1)
    return kind, next(seed for seed in later if counts(seed))
