"""How long a testbed takes to come up, how fast pods get Ready on it, and what it costs when idle.

`python -m bench.testbed` measures a warm start; `--cold` also one with an empty cache, builds and all.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.results_file import append, summary
from testbed import cgroups, processes, record
from testbed.layout import REPOSITORY, Layout
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import pod

NAME = "bench"
NODES = 3
PODS = ("a", "b", "c")
IDLE_S = 60
SETTLE_S = 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def run_testbed(*args: str, cache: Path | None = None) -> float:
    """Run a command of the testbed; how long it took."""
    begun = time.monotonic()
    env = {**os.environ, **({"VALKEY_OPERATOR_CACHE": str(cache)} if cache else {})}
    subprocess.run([REPOSITORY / "bin" / "testbed", "--name", NAME, *args], check=True, env=env, stdout=sys.stderr)
    return time.monotonic() - begun


def cold_up() -> float:
    with tempfile.TemporaryDirectory(prefix="cold-cache-") as cache:
        try:
            return run_testbed("up", f"--nodes={NODES}", cache=Path(cache))
        finally:
            run_testbed("down", cache=Path(cache))


def warm_up() -> float:
    run_testbed("down")
    return run_testbed("up", f"--nodes={NODES}")


def pods_ready(cluster: Cluster) -> float:
    """From apply to the last of three pods Ready, one on each node; images are there."""
    with cluster.namespace("bench") as namespace:
        pods = [pod(name, node=f"node{index}") for index, name in enumerate(PODS)]
        begun = time.monotonic()
        cluster.apply(*pods, namespace=namespace)
        cluster.kubectl("wait", "pod", "--all", "--for=condition=Ready", f"--namespace={namespace}", "--timeout=60s")
        return time.monotonic() - begun


def idle(layout: Layout) -> dict[str, Any]:
    """Memory (proportional set size) and cores used by all processes of a testbed without workload."""
    time.sleep(SETTLE_S)
    begun, cpu = time.monotonic(), cpu_seconds(layout)
    time.sleep(IDLE_S)
    cores = (cpu_seconds(layout) - cpu) / (time.monotonic() - begun)
    memory = {pid: pss_bytes(pid) for pid in pids(layout)}
    return {"idle_cores": round(cores, 3), "idle_gb": round(sum(memory.values()) / 1e9, 3), "processes": len(memory)}


def pids(layout: Layout) -> list[int]:
    return sorted({p.pid for p in processes.processes_of(layout)} | set(cgroups.pids(layout.cgroup)))


def cpu_seconds(layout: Layout) -> float:
    return sum(ticks(pid) for pid in pids(layout)) / TICKS_PER_S


def ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def warm_figures(runs: int) -> dict[str, Any]:
    starts, ready = [], []
    for _ in range(runs):
        starts.append(warm_up())
        layout, _ = record.require(NAME)
        ready += [pods_ready(Cluster(layout.kubeconfig(), layout)) for _ in PODS]
    layout, _ = record.require(NAME)
    return {"warm_up_s": summary(starts), "three_pods_ready_s": summary(ready), **idle(layout)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="also with an empty cache (about ten minutes)")
    parser.add_argument("--runs", type=int, default=5, help="how many warm starts (default: %(default)s)")
    args = parser.parse_args()
    figures: dict[str, Any] = {"cold_up_s": round(cold_up(), 1)} if args.cold else {}
    try:
        figures |= warm_figures(args.runs)
    finally:
        run_testbed("down")
    print(f"{figures}\nkept in {append('testbed', figures)}")


if __name__ == "__main__":
    main()
