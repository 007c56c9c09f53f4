"""A server that passed the gate without a start is ended, and no other one is."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from pathlib import Path

import pytest

from tests.valkey.gated import WRITABLE, Pod, pod
from tests.valkey.gated_agent import Agent
from valkey_operator.agent.safe_base import end_safe_bases
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import AGENT_USER


class Ending(Agent):
    """An agent that ends safe bases."""

    def __init__(self, made: Pod) -> None:
        super().__init__(made)
        self._socket = made.gate.socket

    def works(self) -> list[Coroutine[None, None, None]]:
        return [*super().works(), end_safe_bases(self.node, self._socket)]


def answer_with_nothing(made: Pod) -> None:
    os.close(os.open(made.gate_folder / "go.conf", os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.every_version
def test_a_server_at_the_safe_base_is_ended_and_leaves_no_snapshot(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Ending(made)
        async with agent.working():
            server = made.start_server()
            made.wait_at_gate(server)
            answer_with_nothing(made)
            await agent.wait_for("it is gone", lambda report: report.process == pb.PROCESS_STATE_GONE)
            assert server.wait(timeout=10) == -signal.SIGKILL, made.log()
            assert not (tmp_path / "data" / "dump.rdb").exists()
            await agent_lets_the_next_one_in(agent, made)

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


async def agent_lets_the_next_one_in(agent: Agent, made: Pod) -> None:
    made.start_server()
    await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
    with made.agent_client() as client:
        assert client.set("key", "value")


@pytest.mark.parametrize("password", [None, "secret"])
def test_a_server_whose_users_were_changed_is_left_alone(version: str, tmp_path: Path, password: str | None) -> None:
    async def run(made: Pod) -> None:
        agent = Ending(made)
        server = made.start_server()
        made.wait_at_gate(server)
        made.open_as(WRITABLE, password)
        with made.agent_client() as client:
            made.wait_for(client)
        with made.client("default", password) as client:
            client.execute_command("ACL", "DELUSER", AGENT_USER)
            client.execute_command("CONFIG", "SET", "min-replicas-to-write", 1_000_000)
        async with agent.working():
            await agent.wait_for("it refuses", lambda report: report.health == pb.HEALTH_REFUSES)
            await asyncio.sleep(1.5)
            assert server.poll() is None, made.log()

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))
