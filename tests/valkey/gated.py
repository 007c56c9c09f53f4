"""Servers that start from boot.conf and wait at a gate, as in a pod; folders of this machine stand for its volumes."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import valkey

from testbed.images.rootfs import launcher, rootfs
from testbed.images.shelf import image_cache
from tests.support.ports import free_port
from valkey_operator.agent.gate import Gate, NobodyWaitsError
from valkey_operator.valkey.boot import AGENT_USER, Start, StartKind, render_boot_conf

DEADLINE_S = 20
WRITABLE = Start(kind=StartKind.WRITABLE_PRIMARY)
FENCED = Start(kind=StartKind.FENCED_PRIMARY)
PARKED = Start(kind=StartKind.PARKED)


def wait_until(what: str, holds: Callable[[], bool], state: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {DEADLINE_S} s: {what}; {state()}"
        time.sleep(0.01)


@dataclass
class Pod:
    """The two shared folders, and the processes that were started in them."""

    version: str
    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]]

    @property
    def gate_folder(self) -> Path:
        return self.folder / "gate"

    @property
    def gate(self) -> Gate:
        return Gate(self.gate_folder)

    @property
    def boot_conf(self) -> Path:
        return self.folder / "boot.conf"

    def start_server(self) -> subprocess.Popen[bytes]:
        program = launcher(rootfs(self.version, image_cache(), print))
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen([*program, str(self.boot_conf)], stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def wait_at_gate(self, process: subprocess.Popen[bytes]) -> None:
        channel = Path(f"/proc/{process.pid}/wchan")
        wait_until("the server waits at the gate", lambda: channel.read_text() == "wait_for_partner", self.log)

    def open_as(self, start: Start, password: str | None = None, settings_file: Path | None = None) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                self.gate.open_as(start, default_password=password, port=self.port, settings_file=settings_file)
            except NobodyWaitsError:
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.005)
            else:
                return

    def client(self, user: str | None = None, password: str | None = None, *, timeout_s: float = 10) -> valkey.Valkey:
        """A client on the unix socket, which is there also where no port is."""
        path = str(self.gate.socket)
        return valkey.Valkey(
            unix_socket_path=path, username=user, password=password, decode_responses=True, socket_timeout=timeout_s
        )

    def agent_client(self) -> valkey.Valkey:
        return self.client(AGENT_USER, self.gate.password())

    def wait_for(self, client: valkey.Valkey) -> None:
        def answers() -> bool:
            try:
                return bool(client.ping())
            except (valkey.ConnectionError, valkey.BusyLoadingError):
                return False

        wait_until("the server answers", answers, self.log)


@contextlib.contextmanager
def pod(version: str, folder: Path) -> Iterator[Pod]:
    """A pod without a server yet; every server started in it is killed with the block."""
    made = Pod(version, folder, free_port(), [])
    for name in ("gate", "data"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    made.boot_conf.write_text(render_boot_conf(gate=str(made.gate_folder), data=str(folder / "data")))
    made.gate.make()
    try:
        yield made
    finally:
        for process in made.processes:
            process.kill()
            process.wait(timeout=10)


def without_delay(made: Pod) -> Path:
    """Settings of a primary that sends its data at once; it waits 5 s for more replicas otherwise."""
    settings = made.folder / "settings.conf"
    settings.write_text("repl-diskless-sync-delay 0\n")
    return settings
