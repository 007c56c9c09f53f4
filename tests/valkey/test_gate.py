"""No server starts by itself, and none starts writable unless it was told to: on real servers of each version."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import valkey

from tests.valkey.gated import FENCED, PARKED, WRITABLE, Pod, pod, wait_until
from tests.valkey.servers import running
from valkey_operator.valkey.boot import Address, Start, StartKind

pytestmark = pytest.mark.every_version


def assert_safe_base(base: Pod) -> None:
    """Unreachable from the network, and refuses to write; such a server knows no user but the default one."""
    with base.client() as client:
        base.wait_for(client)
        assert client.config_get("port") == {"port": "0"}
        with pytest.raises(valkey.ResponseError, match="NOREPLICAS"):
            client.set("key", "value")


def test_a_server_waits_at_the_gate_and_ends_at_once_when_told_to(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.wait_at_gate(server)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=5) != 0
        assert not made.gate.socket.exists()


def test_a_writable_primary_writes_at_once_and_only_with_the_password(version: str, tmp_path: Path) -> None:
    password = 'it\'s "so" # \\ hard\n\t€'
    with pod(version, tmp_path) as made:
        made.start_server()
        made.open_as(WRITABLE, password)
        with made.client("default", password) as client:
            made.wait_for(client)
            assert client.set("key", "value")
            assert client.config_get("primaryauth") == {"primaryauth": password}
        with made.client() as client, pytest.raises(valkey.AuthenticationError):
            client.ping()
        with valkey.Valkey(port=made.port, password=password, socket_timeout=10) as client:
            assert client.ping()
        with made.agent_client() as client:
            assert client.acl_whoami() == "valkey-operator-agent"


def test_a_fenced_primary_serves_reads_refuses_writes_and_is_lifted_by_the_agent(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        made.start_server()
        made.open_as(FENCED)
        with made.agent_client() as client:
            made.wait_for(client)
            assert client.get("key") is None
            with pytest.raises(valkey.ResponseError, match="NOREPLICAS"):
                client.set("key", "value")
            client.config_set("min-replicas-to-write", 0)
            assert client.set("key", "value")


def test_a_replica_follows_its_primary_with_the_password(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made, running(version) as primary, primary.client() as admin:
        admin.config_set("requirepass", "secret")
        made.start_server()
        made.open_as(Start(kind=StartKind.REPLICA, primary=Address("127.0.0.1", primary.port)), "secret")
        with made.agent_client() as client:
            made.wait_for(client)
            wait_until("the link is up", lambda: client.info()["master_link_status"] == "up", made.log)


def test_a_parked_server_is_a_replica_of_nobody(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        made.start_server()
        made.open_as(PARKED)
        with made.agent_client() as client:
            made.wait_for(client)
            assert (client.info()["role"], client.info()["master_host"]) == ("slave", "192.0.2.1")
            with pytest.raises(valkey.ReadOnlyError):
                client.set("key", "value")


def test_the_settings_of_a_user_count_but_never_lift_the_fence(version: str, tmp_path: Path) -> None:
    settings = tmp_path / "valkey.conf"
    settings.write_text("maxmemory 64mb\nmin-replicas-to-write 0\nport 1\nproc-title-template nothing\n")
    with pod(version, tmp_path / "pod") as made:
        made.start_server()
        made.open_as(FENCED, settings_file=settings)
        with made.agent_client() as client:
            made.wait_for(client)
            read = client.config_get("maxmemory", "min-replicas-to-write", "port")
    assert read == {"maxmemory": str(64 * 2**20), "min-replicas-to-write": "1000000", "port": str(made.port)}


@pytest.mark.parametrize("answer", [b"", b"\n"], ids=["nothing", "empty-line"])
def test_an_empty_answer_starts_the_safe_base(version: str, tmp_path: Path, answer: bytes) -> None:
    with pod(version, tmp_path) as made:
        made.wait_at_gate(made.start_server())
        fifo = os.open(made.gate_folder / "go.conf", os.O_WRONLY | os.O_NONBLOCK)
        if answer:
            os.write(fifo, answer)
        os.close(fifo)
        assert_safe_base(made)


@pytest.mark.parametrize("answer", [b"include /nowhere\n", b"port", b"min-replicas-to-write"])
def test_a_bad_answer_ends_the_server(version: str, tmp_path: Path, answer: bytes) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.wait_at_gate(server)
        fifo = os.open(made.gate_folder / "go.conf", os.O_WRONLY | os.O_NONBLOCK)
        os.write(fifo, answer)
        os.close(fifo)
        assert server.wait(timeout=5) != 0


# An agent that is killed at the moment a system call is made, or right after it.
DYING_AGENT = """
import os, signal, sys
from pathlib import Path
from valkey_operator.agent.gate import Gate
from valkey_operator.valkey.boot import Start, StartKind
moment, name = sys.argv[2].split("-")
real = getattr(os, name)
def dying(target, *rest):
    ours = name != "open" or str(target).endswith("go.conf")
    if ours and moment == "before": os.kill(os.getpid(), signal.SIGKILL)
    result = real(target, *rest)
    if ours and moment == "after": os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(os, name, dying)
start = Start(kind=StartKind.WRITABLE_PRIMARY)
Gate(Path(sys.argv[1])).open_as(start, default_password=None, port=0, settings_file=None)
"""


def answer_and_die(made: Pod, moment: str) -> None:
    command = [sys.executable, "-c", DYING_AGENT, str(made.gate_folder), moment]
    assert subprocess.run(command, check=False, timeout=30).returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", ["after-open", "before-write"])
def test_an_agent_killed_while_answering_starts_the_safe_base(version: str, tmp_path: Path, moment: str) -> None:
    with pod(version, tmp_path) as made:
        made.wait_at_gate(made.start_server())
        answer_and_die(made, moment)
        assert_safe_base(made)


def test_an_agent_killed_before_answering_leaves_the_server_waiting(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.wait_at_gate(server)
        answer_and_die(made, "before-open")
        made.wait_at_gate(server)
        made.open_as(FENCED)
        with made.agent_client() as client:
            made.wait_for(client)


def test_an_agent_killed_right_after_answering_leaves_no_permission_for_the_next_start(
    version: str, tmp_path: Path
) -> None:
    with pod(version, tmp_path) as made:
        first = made.start_server()
        made.wait_at_gate(first)
        answer_and_die(made, "after-write")
        with made.agent_client() as client:
            made.wait_for(client)
            assert client.set("key", "value")
        first.kill()
        first.wait(timeout=10)
        made.wait_at_gate(made.start_server())


def test_a_permission_not_taken_is_not_there_for_a_later_server(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        dies_before_it_reads = os.open(made.gate_folder / "go.conf", os.O_RDONLY | os.O_NONBLOCK)
        made.open_as(WRITABLE)
        os.close(dies_before_it_reads)
        made.wait_at_gate(made.start_server())


def test_of_two_servers_at_one_gate_only_one_gets_the_answer(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        servers = [made.start_server(), made.start_server()]
        for server in servers:
            made.wait_at_gate(server)
        made.open_as(WRITABLE, "secret")
        wait_until("both are past the gate", lambda: made.log().count("Running mode=") == 2, made.log)
    assert made.log().count(f"port={made.port}.") == 1, made.log()
    assert made.log().count("port=0.") == 1, made.log()
