"""The operator as a process."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.ask import ask
from tests.support.kubeconfig import kubeconfig, write_kubeconfig
from tests.support.ports import free_port

DEADLINE_S = 20.0


class Operator:
    """A running `python -m valkey_operator operator`."""

    def __init__(self, kubeconfig_path: Path, log_path: Path) -> None:
        self.port, self.report_port = free_port(), free_port()
        self._log_path = log_path
        flags = ["--kubeconfig", str(kubeconfig_path), "--health-address", f"127.0.0.1:{self.port}"]
        agents = ["--report-address", self.report_address, "--advertise", "127.0.0.1"]
        self.process = start([*flags, *agents, "--tls-dir", str(log_path.parent)], log_path)

    @property
    def report_address(self) -> str:
        return f"127.0.0.1:{self.report_port}"

    def ask(self, page: str) -> tuple[int, str]:
        return ask(self.port, page)

    def logged(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._log_path.read_text().splitlines()]

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            told = self._log_path.read_text()
            assert self.process.poll() is None, f"the operator ended while waiting for {what}; its log:\n{told}"
            assert time.monotonic() < deadline, f"no {what} within {DEADLINE_S} s; its log:\n{told}"
            time.sleep(0.05)


def start(flags: list[str], log_path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "valkey_operator", "operator", *flags]
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with log_path.open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environ)


@contextlib.contextmanager
def running_operator(folder: Path, api_port: int, name: str = "operator") -> Iterator[Operator]:
    path = write_kubeconfig(folder, kubeconfig(server=f"http://127.0.0.1:{api_port}"))
    operator = Operator(path, folder / f"{name}.log")
    try:
        yield operator
    finally:
        operator.process.kill()
        operator.process.wait()
