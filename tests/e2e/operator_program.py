"""The real operator as a process of its own, whose way to the API server leads through a proxy that can end it.

It manages one namespace, and keeps its lease and its authority there too.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.e2e.cluster import OPERATOR_NAMESPACE, Cluster
from tests.e2e.engine_ground import connection
from tests.e2e.engine_proxy import Moment, Proxy, Request
from tests.support.ports import free_port

# A fork of a process that has everything imported: a hundred starts are affordable.
_STARTS = multiprocessing.get_context("forkserver")
_STARTS.set_forkserver_preload(["valkey_operator.cli.operator"])
_DEPLOYMENT = "deployment/valkey-operator"
LOOPBACK = "127.0.0.1"
Matches = Callable[[Request], bool]


@contextlib.contextmanager
def without_deployed_operator(cluster: Cluster) -> Iterator[None]:
    """The deployed operator rests meanwhile."""
    cluster.kubectl("scale", _DEPLOYMENT, OPERATOR_NAMESPACE, "--replicas=0")
    gone = ("wait", "--for=delete", "pod", "--selector=app.kubernetes.io/name=valkey-operator", "--timeout=60s")
    cluster.kubectl(*gone, OPERATOR_NAMESPACE, timeout_s=70)
    try:
        yield
    finally:
        cluster.kubectl("scale", _DEPLOYMENT, OPERATOR_NAMESPACE, "--replicas=2")
        cluster.kubectl("rollout", "status", _DEPLOYMENT, OPERATOR_NAMESPACE, "--timeout=120s", timeout_s=130)


def run_program(flags: list[str], log: str) -> None:
    """What the process does."""
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    from valkey_operator.cli.main import main  # noqa: PLC0415 - in the process alone

    sys.exit(main(flags))


class Killer:
    """Counts the writes about one object and those made for it, and ends the process at the n-th.

    `matches` narrows down which count.
    """

    def __init__(self, about: str, number: int, moment: Moment, matches: Matches) -> None:
        self._about = about
        self._number = number
        self._moment = moment
        self._matches = matches
        self._seen: list[Request] = []
        self.struck = threading.Event()

    @property
    def writes(self) -> list[str]:
        return [f"{request.method} {request.written}" for request in self._seen]

    def strikes(self, request: Request, moment: Moment) -> bool:
        if self.struck.is_set():
            return True
        if moment is Moment.BEFORE and self._is_counted(request):
            self._seen.append(request)
        if moment is self._moment and request in self._seen[self._number - 1 :]:
            self.struck.set()
        return self.struck.is_set()

    def _is_counted(self, request: Request) -> bool:
        name = request.written.split("/")[1]
        return (name == self._about or name.startswith(f"{self._about}-")) and self._matches(request)


class OperatorProgram:
    """One process after the other, each behind the same proxy."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path, *, address: str = LOOPBACK) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self.log = folder / "operator.log"
        self._proxy = Proxy(connection(cluster.kubeconfig))
        self._proxy.on_write = self._on_write
        self._kubeconfig = folder / "proxy.yaml"
        self._address = address
        self._port = free_port()
        self._folder = folder
        self._process: BaseProcess | None = None
        self._killer: Killer | None = None

    @property
    def requests(self) -> list[Request]:
        return self._proxy.requests

    @contextlib.contextmanager
    def served(self) -> Iterator["OperatorProgram"]:
        """Serve the proxy on a thread of its own; every process ends with the block."""
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready, done)))
        thread.start()
        ready.wait(10)
        self._proxy.write_kubeconfig(self._kubeconfig)
        try:
            yield self
        finally:
            self.kill()
            done.set()
            thread.join(10)

    async def _serve(self, ready: threading.Event, done: threading.Event) -> None:
        async with self._proxy.serve():
            ready.set()
            await asyncio.to_thread(done.wait)

    def start(self) -> None:
        flags = ["operator", f"--kubeconfig={self._kubeconfig}", f"--namespace={self._namespace}"]
        flags += [f"--operator-namespace={self._namespace}", f"--health-address={LOOPBACK}:0"]
        here = f"{self._address}:{self._port}"
        flags += [f"--report-address={here}", f"--advertise={self._address}", f"--report-service={here}"]
        flags += [f"--tls-dir={self._folder}"]
        self._process = _STARTS.Process(target=run_program, args=(flags, str(self.log)), daemon=True)
        self._process.start()

    def start_anew(self) -> None:
        """Start after one was killed, without the wait until its lease ends."""
        self._killer = None
        free = json.dumps({"spec": {"holderIdentity": ""}})
        place = f"--namespace={self._namespace}"
        self._cluster.try_kubectl("patch", "lease", "valkey-operator", place, "--type=merge", f"--patch={free}")
        self.start()

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.join(10)

    def kill_at(self, about: str, number: int, moment: Moment, matches: Matches = lambda _: True) -> Killer:
        """End the process right before or after its n-th write for a Valkey."""
        self._killer = Killer(about, number, moment, matches)
        return self._killer

    def _on_write(self, request: Request, moment: Moment) -> bool:
        killer = self._killer
        if killer is None or not killer.strikes(request, moment):
            return False
        self.kill()
        return True
