"""Real valkey-server processes of any supported version, on loopback."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import valkey

from testbed.images.catalogue import VALKEY_VERSIONS
from testbed.images.rootfs import launcher, rootfs
from testbed.images.shelf import image_cache
from tests.support.ports import free_port

NEWEST = VALKEY_VERSIONS[-1]
START_DEADLINE_S = 20
QUIET = {"save": "", "repl-diskless-sync-delay": "0"}


@dataclass(frozen=True)
class Server:
    version: str
    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    def client(self) -> valkey.Valkey:
        return valkey.Valkey(port=self.port, decode_responses=True, socket_timeout=10)

    def info(self) -> str:
        """The text of INFO, as the server sends it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock, sock.makefile("rwb") as stream:
            stream.write(b"INFO everything\r\n")
            stream.flush()
            size = int(stream.readline()[1:])
            return stream.read(size).decode()

    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")


@contextmanager
def running(version: str = NEWEST, *, bare: bool = False, **config: str) -> Iterator[Server]:
    """A server that answers; it is killed with the block. Underscores in a directive's name stand for dashes.

    A bare one has only what keeps it to itself, and its own idea of all else.
    """
    with tempfile.TemporaryDirectory(prefix="valkey-") as name:
        server = start(version, Path(name), config if bare else {**QUIET, **config})
        try:
            wait_until_it_answers(server)
            yield server
        finally:
            # With its children: one that rewrites a file would do so in a folder that is being removed.
            with suppress(ProcessLookupError):  # it is dead already
                os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait(timeout=10)


def start(version: str, folder: Path, config: dict[str, str]) -> Server:
    program = launcher(rootfs(version, image_cache(), print))
    port = free_port()
    own = {"port": str(port), "bind": "127.0.0.1", "dir": str(folder)}
    directives = {**own, **{key.replace("_", "-"): value for key, value in config.items()}}
    arguments = [word for key, value in directives.items() for word in (f"--{key}", value)]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([*program, *arguments], stdout=log, stderr=log, cwd=folder, start_new_session=True)
    return Server(version, port, folder, process)


def wait_until_it_answers(server: Server) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while True:
        try:
            with server.client() as client:
                client.ping()
        except valkey.ConnectionError as problem:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"valkey-server {server.version} does not answer:\n{server.log()}") from problem
            time.sleep(0.02)
        else:
            return
