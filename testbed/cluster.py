"""Bring a whole testbed up, and take it down again.

Up is a list of steps that each do nothing when their result is there already: so it resumes what was half done, repairs
what was killed from outside, and adds nodes to a testbed that runs. Down looks at what is there, not at what should be.
"""

import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testbed import (
    cgroups,
    control_plane,
    faults,
    kubectl,
    mounts,
    network,
    node,
    node_images,
    pki,
    processes,
    record,
    system,
)
from testbed.errors import TestbedError
from testbed.images import registry
from testbed.layout import STATE_ROOT, Layout, NodeLayout
from testbed.progress import Progress
from testbed.record import Record

READY_DEADLINE_S = 120


def up(name: str, count: int, archives: list[Path], progress: Progress) -> Layout:
    """A testbed of at least so many nodes, all of them Ready, with the images of these archives on each."""
    former = record.load(name)
    slot = former.slot if former else record.free_slot(name)
    count = max(count, former.nodes if former else 0)
    record.save(name, Record(slot, count))
    layout = Layout(name, slot)
    nodes = layout.nodes(count)
    registry.offer(layout.image_catalogue, archives)
    with progress.step(f"network and certificates for {count} nodes"):
        connect(layout, nodes)
        pki.ensure(layout)
    start_processes(layout, nodes, archives, progress)
    for fault in faults.active(layout):
        with progress.step(f"heal {fault}"):
            faults.heal(layout, fault)
    with progress.step(f"{count} nodes Ready"):
        wait_until_ready(layout, count)
    return layout


def connect(layout: Layout, nodes: list[NodeLayout]) -> None:
    network.ensure_bridge(layout)
    for each in nodes:
        network.ensure_namespace(each.netns)
    for index, each in enumerate(nodes):
        network.ensure_node(layout, each, nodes[:index])
    network.ensure_service_route(layout)


def start_processes(layout: Layout, nodes: list[NodeLayout], archives: list[Path], progress: Progress) -> None:
    """Images are imported while the API server comes up: neither needs the other."""
    control_plane.start(layout, "etcd")
    control_plane.start(layout, "apiserver")
    for each in nodes:
        node.start_runtime(layout, each)
    with ThreadPoolExecutor() as pool:
        with progress.step("API server"):
            imports = [pool.submit(node_images.load, each, archives) for each in nodes]
            control_plane.wait_until_api_answers(layout)
        for component in ("controller-manager", "scheduler", "dns"):
            control_plane.start(layout, component)
        for each in nodes:
            node.wait_for_runtime(each)
            node.start_kubelet(layout, each)
            node.start_proxy(layout, each)
        system.install(layout)
        with progress.step(f"{len(archives)} images on {len(nodes)} nodes"):
            for done in imports:
                done.result()


def wait_until_ready(layout: Layout, count: int) -> None:
    deadline = time.monotonic() + READY_DEADLINE_S
    while len(ready_nodes(layout)) < count or not accepts_pods(layout):
        if time.monotonic() > deadline:
            nodes = kubectl.attempt(layout, "describe", "nodes").stdout[-3000:]
            raise TestbedError(f"not all {count} nodes are Ready after {READY_DEADLINE_S} s: {nodes}")
        time.sleep(0.2)


def ready_nodes(layout: Layout) -> list[str]:
    return [
        item["metadata"]["name"]
        for item in kubectl.get(layout, "nodes")["items"]
        for condition in item["status"].get("conditions", [])
        if condition["type"] == "Ready" and condition["status"] == "True"
    ]


def accepts_pods(layout: Layout) -> bool:
    """Pods are refused until the controller manager has made the account they run under."""
    return kubectl.attempt(layout, "get", "serviceaccount", "default", "--namespace=default").returncode == 0


def down(name: str, progress: Progress) -> None:
    """End and remove everything that belongs to this testbed, whatever state it is in."""
    former = record.load(name)
    if former is None and not (STATE_ROOT / name).exists():
        progress.say(f"no testbed {name!r} here: nothing to do")
        return
    layout = Layout(name, former.slot if former else -1)
    steps: dict[str, Callable[[Layout], None]] = {
        "end processes": end_processes,
        "unmount": unmount,
        "remove links": network.remove_links,
        "remove cgroups": lambda it: cgroups.remove(it.cgroup),
        "remove files": remove_files,
    }
    for text, act in steps.items():
        with progress.step(text):
            act(layout)


def end_processes(layout: Layout) -> None:
    processes.end_all(layout)
    cgroups.thaw_below(layout.cgroup)
    processes.end(lambda: cgroups.pids(layout.cgroup), signal.SIGKILL)


def unmount(layout: Layout) -> None:
    system.detach_volumes(layout)
    mounts.unmount_below(layout.state)


def remove_files(layout: Layout) -> None:
    for link in Path("/var/log/containers").glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(layout.state):
            link.unlink()
    shutil.rmtree(layout.state)
    if not any(STATE_ROOT.iterdir()):
        STATE_ROOT.rmdir()
