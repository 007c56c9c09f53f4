"""What the agent sees in a real server that is well, busy, loading, stopped, dead, or not ours."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import valkey

from tests.valkey.gated import PARKED, WRITABLE, Pod, pod, wait_until
from tests.valkey.servers import running
from valkey_operator.agent.persisted import DataFolder
from valkey_operator.agent.probes import check_ready
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerConnection, ServerError, ServerView, observe_server
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import Address, Start, StartKind
from valkey_operator.valkey.states import Health, ProcessState


def see(made: Pod, timeout_s: float = 1.0) -> ServerView:
    async def observe() -> ServerView:
        connection = ServerConnection(made.gate.socket, made.gate.password, timeout_s=timeout_s)
        try:
            return await observe_server(connection)
        finally:
            connection.close()

    return asyncio.run(observe())


def wait_for_health(made: Pod, health: Health) -> ServerView:
    seen = see(made)

    def is_so() -> bool:
        nonlocal seen
        seen = see(made)
        return seen.health is health

    wait_until(f"the server is {health}", is_so, lambda: f"{seen}\n{made.log()}")
    return seen


@pytest.mark.every_version
def test_a_server_that_is_well_tells_everything(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        assert see(made).health is Health.UNREACHABLE
        made.open_as(WRITABLE, "secret")
        seen = wait_for_health(made, Health.ANSWERS)
    assert seen.server is not None
    assert seen.server.process_id == server.pid
    assert seen.replication is not None
    assert seen.fenced is False


def test_a_stopped_server_is_hung_and_a_killed_one_unreachable(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.open_as(PARKED)
        wait_for_health(made, Health.ANSWERS)
        server.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        assert see(made, timeout_s=0.2).health is Health.HUNG
        assert time.monotonic() - begun < 2
        server.send_signal(signal.SIGCONT)
        assert see(made).health is Health.ANSWERS
        server.kill()
        server.wait(timeout=10)
        assert see(made).health is Health.UNREACHABLE


@pytest.mark.every_version
def test_a_server_in_a_long_script_is_busy(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        made.start_server()
        made.open_as(WRITABLE)
        wait_for_health(made, Health.ANSWERS)
        with made.agent_client() as client, made.agent_client() as other:
            client.config_set("busy-reply-threshold", 50)

            def run_script() -> None:
                with pytest.raises(valkey.ResponseError, match="killed"):
                    client.eval("while true do end", 0)

            script = threading.Thread(target=run_script)
            script.start()
            try:
                wait_for_health(made, Health.BUSY)
            finally:
                other.script_kill()
                script.join(10)


@pytest.mark.every_version
def test_a_server_that_reads_its_data_is_loading_and_the_files_were_found(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        first = made.start_server()
        made.open_as(WRITABLE)
        with made.agent_client() as client:
            made.wait_for(client)
            for index in range(4000):
                client.set(f"key{index}", "value" * 100)
            client.save()
        first.kill()
        first.wait(timeout=10)
        assert DataFolder(tmp_path / "data").look().rdb
        settings = tmp_path / "settings.conf"
        settings.write_text("key-load-delay 500\nloading-process-events-interval-bytes 1024\n")
        made.start_server()
        made.open_as(WRITABLE, settings_file=settings)
        loading = wait_for_health(made, Health.LOADING)
        assert loading.server is not None
        wait_for_health(made, Health.ANSWERS)


@pytest.mark.every_version
def test_a_server_of_the_safe_base_refuses_us(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        made.wait_at_gate(made.start_server())
        os.close(os.open(made.gate_folder / "go.conf", os.O_WRONLY | os.O_NONBLOCK))
        wait_for_health(made, Health.REFUSES)


def test_a_late_reply_is_never_taken_for_that_of_the_next_command(version: str, tmp_path: Path) -> None:
    async def ask(made: Pod, pid: int) -> list[object]:
        connection = ServerConnection(made.gate.socket, made.gate.password)
        await connection.call("PING")
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(ServerError, match="no answer to ECHO") as caught:
            await connection.call("ECHO", "late", timeout_s=0.1)
        assert caught.value.health is Health.HUNG
        os.kill(pid, signal.SIGCONT)
        answers = [await connection.call("ECHO", str(index)) for index in range(20)]
        connection.close()
        return answers

    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.open_as(PARKED)
        wait_for_health(made, Health.ANSWERS)
        assert asyncio.run(ask(made, server.pid)) == [str(index) for index in range(20)]


@pytest.mark.every_version
def test_a_replica_is_ready_only_when_it_has_the_whole_data_set(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made, running(version, rdb_key_save_delay="300") as primary:
        with primary.client() as client, client.pipeline(transaction=False) as pipeline:
            for index in range(5000):
                pipeline.set(f"key{index}", "value")
            pipeline.execute()
        made.start_server()
        made.open_as(Start(kind=StartKind.REPLICA, primary=Address("127.0.0.1", primary.port)))
        problems: set[str] = set()
        with made.agent_client() as client:
            made.wait_for(client)

            def is_ready() -> bool:
                problem = check_ready(
                    Facts(process=Watched(ProcessState.RUNNING, ProcessId(1, 1), 1), server=see(made))
                )
                problems.add(problem or "ready")
                return problem is None

            wait_until("the replica is ready", is_ready, made.log)
            assert client.dbsize() == 5000
    assert len(problems) > 1, "the synchronisation was too quick to show anything"
