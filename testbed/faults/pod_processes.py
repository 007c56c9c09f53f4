"""Which processes of this machine belong to a pod: read from their cgroups, which name the pod's uid."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import cgroups, kubectl
from testbed.errors import TestbedError
from testbed.layout import Layout
from testbed.processes import all_pids


@dataclass(frozen=True)
class PodProcess:
    pid: int
    parent: int
    container_id: str
    command: str


@dataclass(frozen=True)
class Pod:
    uid: str
    name: str
    containers: dict[str, str]
    """Container ids by container name; init containers, and so sidecars, are among them."""
    default_container: str


def find_pod(layout: Layout, reference: str) -> Pod:
    """A pod by `name` or `namespace/name`."""
    namespace, _, name = reference.rpartition("/")
    found = kubectl.attempt(layout, "get", "pod", name, f"--namespace={namespace or 'default'}", "--output=json")
    if found.returncode:
        raise TestbedError(f"no pod {reference!r}: {found.stderr.strip()}")
    return parse_pod(json.loads(found.stdout))


def parse_pod(pod: dict[str, Any]) -> Pod:
    status = pod["status"]
    listed = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    running = {each["name"]: each["containerID"].rpartition("/")[2] for each in listed if "running" in each["state"]}
    metadata = pod["metadata"]
    return Pod(metadata["uid"], metadata["name"], running, pod["spec"]["containers"][0]["name"])


def processes_of(pod: Pod) -> list[PodProcess]:
    """The pod's processes, without the sandbox that holds its namespaces."""
    ids = set(pod.containers.values())
    return [found for pid in all_pids() if (found := read(pid, pod.uid)) and found.container_id in ids]


def read(pid: int, pod_uid: str) -> PodProcess | None:
    try:
        cgroup = Path(f"/proc/{pid}/cgroup").read_text()
        if f"/pod{pod_uid}/" not in cgroup:
            return None
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        command = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None
    container_id = cgroup.partition(f"/pod{pod_uid}/")[2].split()[0].split("/")[0]
    return PodProcess(pid, parent, container_id, command)


def main_process(pod: Pod, container: str | None) -> PodProcess:
    """The process that a container was started with: the one whose parent is outside of the container."""
    wanted = container or pod.default_container
    if wanted not in pod.containers:
        raise TestbedError(
            f"pod {pod.name} runs no container {wanted!r}: it runs {', '.join(pod.containers) or 'none'}"
        )
    inside = [each for each in processes_of(pod) if each.container_id == pod.containers[wanted]]
    pids = {each.pid for each in inside}
    roots = [each for each in inside if each.parent not in pids]
    if not roots:
        raise TestbedError(f"container {wanted} of pod {pod.name} has no process: it is starting or gone")
    return min(roots, key=lambda each: each.pid)


def process_named(pod: Pod, container: str | None, command: str | None) -> PodProcess:
    """A container's main process, or the one of the pod whose command has this name."""
    if command is None:
        return main_process(pod, container)
    matching = [each for each in processes_of(pod) if each.command == command[:15]]
    if not matching:
        names = ", ".join(sorted({each.command for each in processes_of(pod)}))
        raise TestbedError(f"pod {pod.name} has no process {command!r}: it has {names or 'none'}")
    return min(matching, key=lambda each: each.pid)


def pod_cgroup(pod: Pod) -> str:
    """The pod's folder in the hierarchy that can freeze it."""
    for process in processes_of(pod):
        for line in Path(f"/proc/{process.pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if cgroups.unified() or controllers == "freezer":
                return f"{path.partition(f'/pod{pod.uid}/')[0]}/pod{pod.uid}".lstrip("/")
    raise TestbedError(f"pod {pod.name} has no running process to freeze")
