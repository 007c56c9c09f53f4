"""The operator as it runs in a container: a process, signals, a port, exit codes. The API server is a stand-in."""

import signal
import socket
from pathlib import Path

import pytest

from tests.support.kubeconfig import kubeconfig, write_kubeconfig
from tests.support.object_server import Objects, api_server
from tests.support.operator_program import DEADLINE_S, running_operator, start
from tests.support.ports import free_port

ADDRESSES = ("--health-address", "--report-address")
SECRET_PATH = "/api/v1/namespaces/valkey-operator-system/secrets/valkey-operator-ca"


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


@pytest.mark.parametrize(("taken_flag", "free_flag"), [ADDRESSES, ADDRESSES[::-1]])
def test_a_taken_address_is_one_sentence_and_code_two(tmp_path: Path, taken_flag: str, free_flag: str) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig(server="http://127.0.0.1:1"))
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = ["--kubeconfig", str(path), taken_flag, address, free_flag, "127.0.0.1:0"]
        assert start(flags, log).wait(DEADLINE_S) == 2
    told = log.read_text()
    assert told.startswith(f"valkey-operator: {taken_flag} is {address}, which cannot be opened: ")
    assert told.count("\n") == 1


def test_a_folder_that_cannot_be_written_to_is_one_sentence_and_code_two(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig(server="http://127.0.0.1:1"))
    log = tmp_path / "log"
    addresses = [word for flag in ADDRESSES for word in (flag, "127.0.0.1:0")]
    flags = ["--kubeconfig", str(path), *addresses, "--tls-dir", str(tmp_path / "nowhere")]
    assert start(flags, log).wait(DEADLINE_S) == 2
    told = log.read_text()
    assert told.startswith(f"valkey-operator: --tls-dir is {tmp_path}/nowhere, and no folder can be made there: ")
    assert told.count("\n") == 1


def test_it_is_not_ready_before_it_has_its_certificate_and_leaves_none_behind(tmp_path: Path) -> None:
    api_port, objects = free_port(), Objects()
    objects.by_path[SECRET_PATH] = {"metadata": {"name": "valkey-operator-ca", "resourceVersion": "1"}, "data": {}}
    with api_server(api_port, objects), running_operator(tmp_path, api_port) as operator:
        operator.wait_for("its wait", lambda: "certificate authority" in operator.ask("/readyz")[1])
        assert operator.ask("/readyz")[0] == 503
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", operator.report_port))
        del objects.by_path[SECRET_PATH]
        operator.wait_for("readiness", lambda: operator.ask("/readyz")[0] == 200)
        assert list(tmp_path.glob("valkey-operator-*/tls.key"))
        operator.process.send_signal(signal.SIGTERM)
        assert operator.process.wait(DEADLINE_S) == 0
        assert not list(tmp_path.glob("valkey-operator-*"))
