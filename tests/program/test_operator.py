"""The operator as it runs in a container: a process, signals, a port, exit codes. The API server is a stand-in."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.kubeconfig import kubeconfig, write_kubeconfig
from tests.support.ports import free_port

DEADLINE_S = 20.0


class ApiServer(http.server.BaseHTTPRequestHandler):
    """Answers GET /version and nothing else."""

    def do_GET(self) -> None:
        body = json.dumps({"gitVersion": "v1.34.4", "platform": "linux/amd64"}).encode()
        self.send_response(200 if self.path == "/version" else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Keep the test's output to what it is about."""


@contextlib.contextmanager
def api_server(port: int) -> Iterator[None]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), ApiServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Operator:
    """A running `python -m valkey_operator operator`."""

    def __init__(self, kubeconfig_path: Path, log_path: Path) -> None:
        self.port = free_port()
        self._log_path = log_path
        flags = ["--kubeconfig", str(kubeconfig_path), "--health-address", f"127.0.0.1:{self.port}"]
        self.process = start(flags, log_path)

    def ask(self, page: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{page}", timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

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
def running_operator(folder: Path, api_port: int) -> Iterator[Operator]:
    path = write_kubeconfig(folder, kubeconfig(server=f"http://127.0.0.1:{api_port}"))
    operator = Operator(path, folder / "operator.log")
    try:
        yield operator
    finally:
        operator.process.kill()
        operator.process.wait()


def test_it_is_healthy_before_and_ready_after_the_api_server_answers(tmp_path: Path) -> None:
    api_port = free_port()
    with running_operator(tmp_path, api_port) as operator:
        operator.wait_for("health", lambda: operator.ask("/healthz")[0] == 200)
        assert operator.ask("/readyz") == (503, "waiting for the API server\n")
        with api_server(api_port):
            operator.wait_for("readiness", lambda: operator.ask("/readyz")[0] == 200)
        answers = [line for line in operator.logged() if line["event"] == "API server answers"]
        assert [line["version"] for line in answers] == ["v1.34.4"]
        waits = [line for line in operator.logged() if line["event"] == "API server does not answer"]
        assert "ConnectError" in waits[0]["reason"]
        assert "valkey_operator_build_info{version=" in operator.ask("/metrics")[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_stops_it_with_code_zero_also_while_it_waits(tmp_path: Path, number: signal.Signals) -> None:
    with running_operator(tmp_path, free_port()) as operator:
        operator.wait_for("health", lambda: operator.ask("/healthz")[0] == 200)
        operator.process.send_signal(number)
        assert operator.process.wait(DEADLINE_S) == 0
        assert operator.logged()[-1]["event"] == "operator stopped"


def test_a_missing_kubeconfig_is_one_sentence_and_code_two(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert start(["--kubeconfig", "/nowhere"], log).wait(DEADLINE_S) == 2
    told = log.read_text()
    assert told.startswith("valkey-operator: --kubeconfig is '/nowhere', which cannot be read: No such file")
    assert told.count("\n") == 1


def test_a_taken_health_address_is_one_sentence_and_code_two(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig(server="http://127.0.0.1:1"))
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert start(["--kubeconfig", str(path), "--health-address", address], log).wait(DEADLINE_S) == 2
    told = log.read_text()
    assert told.startswith(f"valkey-operator: --health-address is {address}, which cannot be opened: ")
    assert told.count("\n") == 1
