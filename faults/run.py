"""`make faults`: run after run until the time is over, each kept as soon as it is done; or one again, by its seed."""

import argparse
import contextlib
import time
from collections.abc import Sequence

import msgspec

from faults import results
from faults.catalogue import NAMES, USUAL, plan_of, setting_of, usually_settled_s
from faults.experiment import run
from faults.places import PREFIX, ground_for, shop_for_faults
from faults.problems import NotThereError, first_line
from faults.promises import Figures
from faults.report import write_report
from faults.schedule import Plan, is_for_cluster, next_run
from faults.settings import Setting
from testbed import faults as testbed_faults
from testbed.errors import TestbedError
from testbed.faults.links import all_nodes
from testbed.layout import Layout
from tests.e2e.cluster import Cluster, cluster_under_test
from tests.e2e.valkeys import Shop

Wanted = tuple[Setting, str]
"""What a run needs, and with which durability."""


class Session:
    """One Valkey or cluster for run after run; a new one where another is needed, or one was hardly whole again."""

    def __init__(self, cluster: Cluster, layout: Layout) -> None:
        self._cluster = cluster
        self._layout = layout
        self._whole: tuple[Wanted, Shop] | None = None
        """What there is, and where."""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, planned: Plan) -> Figures:
        wanted = setting_of(planned.kind), planned.durability
        shop = self._shop_for(wanted)
        self._whole = None
        try:
            done = run(ground_for(shop, self._layout, planned), planned)
        finally:
            heal_all(self._layout)
        if not done.status and done.settled_s < usually_settled_s(planned.kind):
            self._whole = wanted, shop
        return done

    def _shop_for(self, wanted: Wanted) -> Shop:
        if self._whole and self._whole[0] == wanted:
            return self._whole[1]
        self._stack.close()
        return self._stack.enter_context(shop_for_faults(self._cluster, *wanted))


def heal_all(layout: Layout) -> None:
    for fault in testbed_faults.active(layout):
        testbed_faults.heal(layout, fault)


def clear_up(cluster: Cluster, layout: Layout) -> None:
    """What a session that was ended in the midst of a run has left."""
    heal_all(layout)
    cluster.kubectl("uncordon", *(machine.name for machine in all_nodes(layout)))
    names = cluster.kubectl("get", "namespaces", "--output=name").split()
    if left := [name for name in names if name.startswith(f"namespace/{PREFIX}-")]:
        cluster.kubectl("delete", *left, "--wait=false")


def accumulate(session: Session, kinds: Sequence[str], minutes: float, durability: str | None) -> None:
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        kind, seed = next_run(results.seeds(results.load(), kinds), durability)
        try:
            done = session.make(plan_of(kind, seed))
        except (AssertionError, OSError, TimeoutError, TestbedError, NotThereError) as problem:
            results.keep_failure(kind, seed, first_line(problem))
            print(f"{kind} {seed}: could not be run: {problem}", flush=True)
        else:
            results.keep(done)
            print(told(done), flush=True)
        write_report()


def told(done: Figures) -> str:
    gaps = ", ".join(f"{name} {gap:.0f} ms" for name, gap in done.gap_ms.items())
    verdict = "; ".join(done.broken) or "all promises kept"
    return f"{done.kind} {done.seed} ({done.durability}): {gaps}; lost {done.lost}; {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long to go on (default: %(default)s)")
    parser.add_argument("--kind", choices=NAMES, action="append", help="only these (default: all but the costly ones)")
    parser.add_argument("--durability", choices=results.DURABILITIES, help="only runs of this one (default: both)")
    parser.add_argument("--seed", type=int, help="only the run of this seed, of one kind; it is shown, and not kept")
    parser.add_argument("--report", action="store_true", help="only write docs/reliability.md anew")
    args = parser.parse_args()
    if args.report:
        return write_report()
    if args.durability == "Quorum" and args.kind and all(map(is_for_cluster, args.kind)):
        parser.error("--durability=Quorum: clusters have only runs with Available; leave it out, or name other kinds")
    if args.seed is not None and len(args.kind or ()) != 1:
        parser.error("--seed belongs to one --kind")
    cluster = cluster_under_test()
    if cluster.testbed is None:
        parser.error("faults need the machines of a testbed, and KUBECONFIG names another cluster")
    clear_up(cluster, cluster.testbed)
    with Session(cluster, cluster.testbed) as session:
        if args.seed is None:
            return accumulate(session, args.kind or USUAL, args.minutes, args.durability)
        done = session.make(plan_of(args.kind[0], args.seed))
        print(msgspec.json.format(msgspec.json.encode(done)).decode())
    return None


if __name__ == "__main__":
    main()
