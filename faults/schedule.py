"""Which faults come when: drawn from a seed, so that any run can be had again.

Pure. It knows how long each kind may last, and not what a kind does.
"""

import itertools
from collections.abc import Collection, Mapping
from random import Random
from typing import NamedTuple

CLUSTER = "cluster-"
"""So begin the names of kinds that are for a ValkeyCluster."""
# Before the first fault, so that every client is well under way.
LEAD_S = 2.0
VARIANTS = 1 << 16
QUORUM_EVERY = 4


class Lasting(NamedTuple):
    """How long a kind of fault lasts, at least and at most; 0 where it is over at once."""

    shortest_s: float
    longest_s: float


class Storm(NamedTuple):
    """Many faults that overlap: how many at least and at most, and in how long a time they begin."""

    fewest: int
    most: int
    spread_s: float


STORM, CLUSTER_STORM = "storm", f"{CLUSTER}storm"
STORMS = {STORM: Storm(4, 7, 40.0), CLUSTER_STORM: Storm(25, 35, 180.0)}


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
    """The same for the same kind and seed; a storm is made of all that are given."""
    chance = Random(f"{kind} {seed}")  # noqa: S311 - seeded chance is what a replay needs
    names = sorted(catalogue)
    storm = STORMS.get(kind)
    chosen = chance.choices(names, k=chance.randint(storm.fewest, storm.most)) if storm else [kind]
    faults = [draw(chance, each, catalogue[each], storm.spread_s if storm else 1.0) for each in chosen]
    ordered = tuple(sorted(faults, key=lambda fault: fault.at_s))
    return Plan(kind, seed, durability_of(kind, seed), ordered)


def is_for_cluster(kind: str) -> bool:
    return kind.startswith(CLUSTER)


def durability_of(kind: str, seed: int) -> str:
    """Available is the default, and what most runs are about; a cluster promises no more with another one."""
    return "Quorum" if seed % QUORUM_EVERY == 0 and not is_for_cluster(kind) else "Available"


def draw(chance: Random, kind: str, lasting: Lasting, spread_s: float) -> Planned:
    at_s = LEAD_S + chance.uniform(0, spread_s)
    return Planned(kind, round(at_s, 3), round(chance.uniform(*lasting), 3), chance.randrange(VARIANTS))


def next_run(seeds: Mapping[str, Collection[int]], durability: str | None = None) -> tuple[str, int]:
    """The kind with the fewest runs, and a seed it has not had; kinds with as many runs come in the order given.

    With a durability, only runs of that one count, and only kinds that have such.
    """

    def counts(kind: str, seed: int) -> bool:
        return durability in (None, durability_of(kind, seed))

    able = [name for name in seeds if any(counts(name, seed) for seed in range(QUORUM_EVERY))]
    if not able:
        raise ValueError(f"none of {', '.join(seeds)} has runs with {durability}")
    kind = min(able, key=lambda name: sum(counts(name, seed) for seed in seeds[name]))
    later = itertools.count(max(seeds[kind], default=0) + 1)
    return kind, next(seed for seed in later if counts(kind, seed))
