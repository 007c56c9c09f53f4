"""`python -m tests.sim.many`: lives of the model's shard, for as many seeds or minutes as are given; resumes.

Goes on at the seed after the last one that was run, and adds what was found to bench/results/simulation.json.
Owns: which seeds, how long, the count. Refuses to know: what a life is (shard_chaos.py).
"""

import argparse
import json
import sys
import time
from typing import Any

from bench.results_file import FOLDER, append
from tests.sim.shard_chaos import MOVES, NO_FAULTS, live
from tests.sim.shard_faults import CUTS

NAME = "simulation"
FIRST_SEED = 100_000
"""Above those of the tests."""
WAYS: tuple[dict[str, Any], ...] = (
    {"faults": NO_FAULTS},
    {},
    {"wishes": MOVES},
    {"faults": CUTS},
)
MOST_STORIES = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.many", description=__doc__)
    parser.add_argument("--seeds", type=int, default=sys.maxsize, help="how many, at most")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long, at most")
    wanted = parser.parse_args()
    first = next_seed(load())
    begun = time.monotonic()
    failures: list[dict[str, Any]] = []
    seed = first
    while seed < first + wanted.seeds and time.monotonic() - begun < wanted.minutes * 60:
        if (problem := run(seed)) is not None:
            failures.append({"seed": seed, "problem": problem.splitlines()[0]})
            if len(failures) <= MOST_STORIES:
                print(problem, flush=True)
        seed += 1
    seconds = round(time.monotonic() - begun, 1)
    append(NAME, {"first": first, "seeds": seed - first, "failures": failures, "seconds": seconds})
    print(summary(load()))
    return 1 if failures else 0


def run(seed: int) -> str | None:
    """One life, in one of the ways; why it failed, and how to hear of it again."""
    try:
        live(seed, **WAYS[seed % len(WAYS)])
    except AssertionError as failed:
        return str(failed)
    return None


def load() -> list[dict[str, Any]]:
    path = FOLDER / f"{NAME}.json"
    return list(json.loads(path.read_text())) if path.exists() else []


def next_seed(runs: list[dict[str, Any]]) -> int:
    return max((each["first"] + each["seeds"] for each in runs), default=FIRST_SEED)


def summary(runs: list[dict[str, Any]]) -> str:
    seeds, failed = sum(each["seeds"] for each in runs), sum(len(each["failures"]) for each in runs)
    return (
        f"{seeds} seeds so far, {failed} failed; the last run: {runs[-1]['seeds']}, {len(runs[-1]['failures'])} failed"
    )


if __name__ == "__main__":
    sys.exit(main())
