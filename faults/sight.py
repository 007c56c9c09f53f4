"""What Kubernetes shows meanwhile: the pods a Valkey has, all it ever had during a run, and what the status said.

A watch that ends, as with its API server, is begun anew; what was seen before stays until then.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from faults.history import StatusSeen
from testbed.layout import REPOSITORY

AGAIN_S = 0.5
_POD = '["{.type}","{.object.status.podIP}","{.object.spec.nodeName}"]{"\\n"}'
_PRIMARIES = {
    "valkey": "{.object.status.primary}",
    "valkeycluster": "{range .object.status.shards[*]}{.shardIndex}={.primary} {end}",
}
"""As `StatusSeen` has them."""
Heard = Callable[[list[str], bool], None]
"""Told the fields of an event, and whether it is the first of its watch."""


class PodSeen(NamedTuple):
    """Where a pod is, or was: one that was deleted may still run."""

    address: str
    machine: str


class Sight:
    def __init__(self, kubeconfig: Path, namespace: str, *, kind: str, name: str) -> None:
        self._kubeconfig = kubeconfig
        self._kind = kind
        self._place = f"--namespace={namespace}"
        self._name = name
        self.pods: set[PodSeen] = set()
        self.pods_ever: set[PodSeen] = set()
        self.statuses: list[StatusSeen] = []

    def addresses(self) -> list[str]:
        return sorted(pod.address for pod in self.pods)

    async def watch(self) -> None:
        pods = ("pods", f"--selector=valkey.io/cluster={self._name}", f"--output=jsonpath={_POD}")
        line = f'["{{.object.status.state}}","{_PRIMARIES[self._kind]}"]{{"\\n"}}'
        status = (self._kind, self._name, f"--output=jsonpath={line}")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(*pods, heard=self._on_pod))
            group.create_task(self._follow(*status, heard=self._on_status))

    async def _follow(self, *what: str, heard: Heard) -> None:
        argv = [str(REPOSITORY / "bin" / "kubectl"), "get", *what, self._place, "--watch", "--output-watch-events"]
        env = {**os.environ, "KUBECONFIG": str(self._kubeconfig)}
        while True:
            process = await asyncio.create_subprocess_exec(
                *argv, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
            )
            try:
                await self._read(process, heard)
            except BaseException:
                process.kill()
                raise
            finally:
                await process.wait()
            await asyncio.sleep(AGAIN_S)

    async def _read(self, process: asyncio.subprocess.Process, heard: Heard) -> None:
        assert process.stdout is not None
        is_first = True
        async for line in process.stdout:
            heard(json.loads(line), is_first)
            is_first = False

    def _on_pod(self, fields: list[str], is_first: bool) -> None:
        change, address, machine = fields
        if is_first:
            self.pods.clear()
        pod = PodSeen(address, machine)
        if change == "DELETED":
            self.pods.discard(pod)
        elif address and machine:
            self.pods.add(pod)
            self.pods_ever.add(pod)

    def _on_status(self, fields: list[str], _is_first: bool) -> None:
        state, primary = fields
        seen = StatusSeen(time.time(), state, primary.strip())
        if not self.statuses or self.statuses[-1][1:] != seen[1:]:
            self.statuses.append(seen)
