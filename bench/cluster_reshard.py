"""How fast slots move from 3 shards to 5 and back while clients write, against CLUSTER MIGRATESLOTS by hand.

Both work on the same servers with the same keys and writers, and make the same moves. One round:

1. The operator grows the cluster from 3 shards to 5.
2. The operator is scaled to 0. By hand all slots go back to the first three; the servers of the others stay, empty.
3. By hand they are spread over all five again, so that the operator finds what it has left.
4. The operator comes back, and shrinks the cluster to 3.

By hand (slot_moves.py) means as fast as one can: all moves at once, with one command at each shard that gives. The
clock runs from when slots are first on their way until the last one has another owner, by the word of the servers, so
how long new pods take to start is not in it; `ready_s` is the whole, from the change of the spec to Ready. Servers save
nothing meanwhile, because a snapshot on disk that happens to begin would hold up a move for its length.
"""

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.bulk_keys import VALUE_BYTES
from bench.reshard_figures import Figures, complaints, phase_figures, ratios, totals, verdicts
from bench.results_file import append
from testbed.layout import Layout
from tests.e2e.cluster import cluster_under_test
from tests.e2e.inside import Inside, inside
from tests.e2e.operator_program import without_deployed_operator
from tests.e2e.sharded import SLOTS, open_cluster_shop, sharded, wait_until_well
from tests.e2e.valkeys import Shop

FEW, MANY = 3, 5
NAME = "cart"
LIBRARIES = ("valkey-py", "glide")
CHANGED_WITHIN_S = 900
# More than the mover's own deadline, which explains itself.
MOVED_WITHIN_S = 660
BULK_WITHIN_S = 600
# It may wait for servers that have just gone away.
LOOKED_WITHIN_S = 120
READ_AGAIN_WITHIN_S = 300
MIB = 2**20
By = Callable[["Ground", int], Figures]


@dataclass(frozen=True)
class Ground:
    shop: Shop
    layout: Layout
    folder: Path
    keys: int
    writers: int

    @contextlib.contextmanager
    def program(self, module: str, *arguments: str) -> Iterator[Inside]:
        """A module of ours in the cluster's network; each has a folder of its own, for what it resolves names by."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            place = (self.layout, Path(folder), self.shop.namespace)
            with inside(*place, module, *arguments, PASSWORD=self.shop.password()) as running:
                yield running

    def bulk(self, what: str) -> Figures:
        with self.program("bench.bulk_keys", what, NAME, str(self.keys)) as running:
            return dict(running.end(BULK_WITHIN_S))


def by_operator(ground: Ground, shards: int) -> Figures:
    with ground.program("bench.slot_moves", NAME) as looker:
        looker.wait_until_under_way()
        begun = time.monotonic()
        ground.shop.patch(NAME, {"shards": shards})
        wait_until_whole(ground.shop)
        ready_s = time.monotonic() - begun
        return {**looker.end(LOOKED_WITHIN_S), "ready_s": round(ready_s, 2)}


def by_hand(ground: Ground, shards: int) -> Figures:
    with ground.program("bench.slot_moves", NAME, f"--shards={shards}") as mover:
        return dict(mover.end(MOVED_WITHIN_S))


def wait_until_whole(shop: Shop) -> None:
    """Without asking again and again, which would take the cores from those that move slots."""
    generation = shop.get(shop.kind, NAME)["metadata"]["generation"]
    for field, value in (("observedGeneration", generation), ("state", "Ready")):
        wait = ("wait", f"{shop.kind}/{NAME}", f"--for=jsonpath={{.status.{field}}}={value}")
        place = (f"--namespace={shop.namespace}", f"--timeout={CHANGED_WITHIN_S}s")
        done = shop.cluster.try_kubectl(*wait, *place, timeout_s=CHANGED_WITHIN_S + 10)
        if done.returncode:
            raise TimeoutError(f"{field} of {NAME} is not {value}: {done.stderr.strip()}")
    if shop.status().get("slotsAssigned") != SLOTS:
        raise AssertionError("Ready, and yet not all slots are served")


def explain(shop: Shop) -> str:
    found = shop.cluster.section("get", shop.kind, f"--namespace={shop.namespace}", "--output=yaml")
    return f"{found}\n{shop.cluster.explain(shop.namespace)}"


def phase(ground: Ground, name: str, by: By, shards: int) -> Figures:
    """Slots move while clients write, which read everything again afterwards."""
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(writer(ground, name, number)) for number in range(ground.writers)]
        for each in writers:
            each.wait_until_under_way()
        told = by(ground, shards)
        figures = phase_figures(told, [each.end(READ_AGAIN_WITHIN_S) for each in writers], keys=ground.keys)
    shown = {key: value for key, value in figures.items() if key != "steps"}
    print(f"{name}: {shown}", flush=True)
    return figures


def writer(ground: Ground, phase_name: str, number: int) -> contextlib.AbstractContextManager[Inside]:
    """Libraries take turns, and no two writers ever use the same keys."""
    library = LIBRARIES[number % len(LIBRARIES)]
    return ground.program("tests.e2e.clients.write", library, NAME, f"{phase_name}-{number}")


def one_round(ground: Ground, number: int) -> dict[str, Figures]:
    def run(name: str, by: By, shards: int) -> dict[str, Figures]:
        return {name: phase(ground, f"{name}-{number}", by, shards)}

    found = run("operator_grow", by_operator, MANY)
    with without_deployed_operator(ground.shop.cluster):
        found |= run("hand_shrink", by_hand, FEW)
        found |= run("hand_grow", by_hand, MANY)
    return found | run("operator_shrink", by_operator, FEW)


@contextlib.contextmanager
def filled_cluster(megabytes: int, *, replicas: int, writers: int) -> Iterator[Ground]:
    """A cluster of few shards with that many MiB of values; gone with the block."""
    cluster = cluster_under_test()
    layout, keys = cluster.testbed, megabytes * MIB // VALUE_BYTES
    assert layout is not None, "clients run in the network of a testbed's node; unset KUBECONFIG"
    with cluster.namespace("bench") as namespace, tempfile.TemporaryDirectory(prefix="reshard-") as folder:
        ground = Ground(open_cluster_shop(cluster, namespace), layout, Path(folder), keys, writers)
        try:
            make(ground.shop, replicas=replicas, size=f"{max(1024, megabytes)}Mi")
            print(f"filled: {ground.bulk('fill')}", flush=True)
            yield ground
        except Exception:
            print(explain(ground.shop), flush=True)
            raise


def make(shop: Shop, *, replicas: int, size: str) -> None:
    persistence = {"size": size, "rdb": {"enabled": False}}
    shop.apply(sharded(shards=FEW, replicas=replicas, persistence=persistence))
    wait_until_well(shop)
    shop.wait_for_service()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500, help="of values in all (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of four phases (default: %(default)s)")
    parser.add_argument("--replicas", type=int, default=2, help="nodes of each shard (default: %(default)s)")
    parser.add_argument("--writers", type=int, default=3, help="at a time (default: %(default)s)")
    args = parser.parse_args()
    with filled_cluster(args.megabytes, replicas=args.replicas, writers=args.writers) as ground:
        rounds = [one_round(ground, number) for number in range(args.rounds)]
        check = ground.bulk("check")
    found = {**vars(args), "keys": ground.keys, "check": check, **totals(rounds), **ratios(rounds), "rounds": rounds}
    print({key: value for key, value in found.items() if key != "rounds"})
    print(*verdicts(found), f"kept in {append('cluster_reshard', found)}", sep="\n")
    if problems := complaints(found):
        raise SystemExit("; ".join(problems))


if __name__ == "__main__":
    main()
