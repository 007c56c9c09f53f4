"""`python -m tests.sim.many`: simulated lives of shards and clusters, for as many seeds or minutes as given.

Goes on at the seed after the last one that was run, on all cores, and adds what was found to
bench/results/simulation.json. Owns: which seeds, how long, the count. Refuses to know: what a life is
(shard_chaos.py, cluster_chaos.py).
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.results_file import append, load
from tests.sim import cluster_api_faults, cluster_chaos, cluster_faults, shard_chaos
from tests.sim.shard_chaos import MOVES, NO_FAULTS
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
OLD_EVERY = 10
"""Of these lives of a cluster one has servers that move slots key by key."""
BATCH = 200
MOST_STORIES = 3


def live_shard(seed: int) -> None:
    """One life, in one of the ways."""
    shard_chaos.live(seed, **WAYS[seed % len(WAYS)])


def live_cluster(seed: int) -> None:
    """One life among everything that may happen; every other one with a healthy API server, and no leader of before."""
    events = (*cluster_faults.FAULTS, *cluster_faults.WISHES, *cluster_faults.BY_HAND)
    events = events if seed % 2 else (*events, *cluster_api_faults.API_FAULTS)
    cluster_chaos.live(seed, events, version="8.0.1" if seed % OLD_EVERY == 0 else "9.1.2")


MODELS: dict[str, Callable[[int], None]] = {"shard": live_shard, "cluster": live_cluster}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.many", description=__doc__)
    parser.add_argument(
        "--model", choices=MODELS, action="append", help="only these (default: all, one after the other)"
    )
    parser.add_argument("--seeds", type=int, default=sys.maxsize, help="how many of each model, at most")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long in all, at most")
    wanted = parser.parse_args()
    models = wanted.model or list(MODELS)
    failed = [live_many(each, wanted.seeds, wanted.minutes * 60 / len(models)) for each in models]
    return 1 if any(failed) else 0


def live_many(model: str, most: int, most_s: float) -> int:
    """How many failed; all are told, and kept."""
    first, begun = next_seed(load(NAME), model), time.monotonic()
    failures: list[dict[str, Any]] = []
    seed, end = first, first + most
    with multiprocessing.Pool() as pool:
        while seed < end and time.monotonic() - begun < most_s:
            batch = range(seed, min(seed + BATCH, end))
            for number, problem in zip(batch, pool.map(partial(run, model), batch, chunksize=5), strict=True):
                if problem is not None:
                    failures.append({"seed": number, "problem": problem.splitlines()[0]})
                    print(problem if len(failures) <= MOST_STORIES else f"{model} {number}: {failures[-1]['problem']}")
            seed = batch.stop
    seconds = round(time.monotonic() - begun, 1)
    append(NAME, {"model": model, "first": first, "seeds": seed - first, "failures": failures, "seconds": seconds})
    print(summary(load(NAME), model), flush=True)
    return len(failures)


def run(model: str, seed: int) -> str | None:
    """Why a life failed, and how to hear of it again."""
    try:
        MODELS[model](seed)
    except AssertionError as failed:
        return str(failed)
    return None


def next_seed(runs: list[dict[str, Any]], model: str) -> int:
    return max((each["first"] + each["seeds"] for each in runs if each["model"] == model), default=FIRST_SEED)


def summary(runs: list[dict[str, Any]], model: str) -> str:
    of_model = [each for each in runs if each["model"] == model]
    seeds, failed = sum(each["seeds"] for each in of_model), sum(len(each["failures"]) for each in of_model)
    last = of_model[-1]
    return (
        f"{model}: {seeds} seeds so far, {failed} failed; the last run: {last['seeds']}, {len(last['failures'])} failed"
    )


if __name__ == "__main__":
    sys.exit(main())
