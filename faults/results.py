"""Every run that was ever made, in bench/results/faults.json, and what is told of the latest ones of each kind."""

import json
import math
import os
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from bench.results_file import FOLDER, append
from faults.promises import Figures

NAME = "faults"
# Older runs are kept, and not told of: they are about an older product.
TOLD = 30
DURABILITIES = ("Available", "Quorum")
_NUMBER = re.compile(r"-\d+")

Run = dict[str, Any]


def keep(run: Figures) -> None:
    append(NAME, {"load": round(os.getloadavg()[0], 1), **msgspec.to_builtins(run)})


def keep_failure(kind: str, seed: int, problem: str) -> None:
    """A run that could not be made counts as tried, and has no figures."""
    append(NAME, {"kind": kind, "seed": seed, "failed": problem})


def load() -> list[Run]:
    path = FOLDER / f"{NAME}.json"
    return list(json.loads(path.read_text())) if path.exists() else []


def seeds(runs: Sequence[Run], kinds: Sequence[str]) -> dict[str, list[int]]:
    """Which runs each of these kinds has had, in their order."""
    return {kind: [run["seed"] for run in runs if run["kind"] == kind] for kind in kinds}


def latest(runs: Sequence[Run], kind: str, durability: str) -> list[Run]:
    """The runs of a kind that are told of."""
    of_kind = [run for run in runs if run["kind"] == kind and "failed" not in run]
    return [run for run in of_kind if run["durability"] == durability][-TOLD:]


def gap_ms(run: Run, way: str) -> float:
    """The longest time without an accepted write; of a way to shards, that of the worst one."""
    return max(float(gap) for name, gap in run["gap_ms"].items() if _NUMBER.sub("", name) == way)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
