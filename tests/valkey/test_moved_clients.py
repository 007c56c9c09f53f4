"""Clients of a server that is no primary any more are sent to the new one; all else stays connected."""

import asyncio
import contextlib
import io
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import valkey

from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import ORDER, Agent
from tests.valkey.servers import NEWEST, Server, running
from valkey_operator.agent.moved_clients import FOLLOWED_AFTER_S
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

WITHIN_S = 20
Talk = Callable[[Pod, Agent, Server], Awaitable[None]]


def with_agent_and_new_primary(version: str, folder: Path, talk: Talk) -> None:
    async def run(made: Pod, primary: Server) -> None:
        made.start_server()
        agent = Agent(made)
        await talk(made, agent, primary)
        agent.node.connection.close()

    with pod(version, folder) as made, running(version) as primary:
        asyncio.run(run(made, primary))


async def follow(agent: Agent, primary: Server) -> None:
    address = pb.Address(host="127.0.0.1", port=primary.port)
    await agent.obey("Follow", pb.FollowRequest(order=ORDER, primary=address))


class Connected:
    """One connection of a client, which does not come back by itself."""

    def __init__(self, stream: "io.BufferedRWPair[Any, Any]") -> None:
        self._stream = stream

    def say(self, command: str) -> str:
        """The first line of the answer; none once it was dropped."""
        try:
            self._stream.write(f"{command}\r\n".encode())
            self._stream.flush()
            return self._stream.readline().decode().strip()
        except ConnectionError:
            return ""

    def is_dropped(self) -> bool:
        return self.say("PING") == ""


@contextlib.contextmanager
def connected(made: Pod) -> Iterator[Connected]:
    with socket.create_connection(("127.0.0.1", made.port), timeout=WITHIN_S) as sock:
        stream = sock.makefile("rwb")
        yield Connected(stream)
        with contextlib.suppress(OSError):
            stream.close()


async def wait_until_dropped(client: Connected) -> None:
    deadline = asyncio.get_running_loop().time() + WITHIN_S
    while not client.is_dropped():
        assert asyncio.get_running_loop().time() < deadline, f"the client is still connected after {WITHIN_S} s"
        await asyncio.sleep(0.05)


@pytest.mark.every_version
@pytest.mark.parametrize("parked_first", [True, False], ids=["parked", "still a primary"])
def test_a_server_that_follows_another_instead_of_being_primary_drops_its_clients(
    version: str, tmp_path: Path, *, parked_first: bool
) -> None:
    async def talk(made: Pod, agent: Agent, primary: Server) -> None:
        await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
        with connected(made) as writer, connected(made) as listener:
            assert writer.say("SET key value") == "+OK"
            assert listener.say("SUBSCRIBE news")
            if parked_first:
                await agent.obey("Park", pb.ParkRequest(order=ORDER))
                assert not writer.is_dropped(), "it may become primary again, and nobody else is it yet"
            await follow(agent, primary)
            assert writer.is_dropped()
            assert "+PONG" not in [listener.say("PING") for _ in range(5)]
        await agent.wait_for("it follows the new primary", lambda report: report.replication.link.up)

    with_agent_and_new_primary(version, tmp_path, talk)


@pytest.mark.every_version
def test_the_links_to_a_primary_and_to_replicas_stay(version: str, tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent, primary: Server) -> None:
        await agent.open(pb.START_KIND_PARKED)
        await follow(agent, primary)
        await agent.wait_for("it is in sync", lambda report: report.replication.link.up)
        with running(version, replicaof=f"127.0.0.1 {made.port}"):
            await agent.wait_for("a replica is there", lambda report: bool(report.replication.replicas))
            with made.agent_client() as client:
                before = links(client)
                await agent.service.clients.move()
                assert sorted(before.values()) == ["M", "S"]
                assert links(client) == before

    with_agent_and_new_primary(version, tmp_path, talk)


def links(client: valkey.Valkey) -> dict[str, str]:
    found: Any = client.client_list()
    return {each["id"]: each["flags"] for each in found if each["flags"] in ("M", "S")}


@pytest.mark.every_version
def test_a_replica_that_follows_another_primary_keeps_its_clients(version: str, tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent, primary: Server) -> None:
        await agent.open(pb.START_KIND_PARKED)
        with running(version) as former:
            await follow(agent, former)
            await agent.wait_for("it is in sync", lambda report: report.replication.link.up)
            with connected(made) as reader:
                await follow(agent, primary)
                assert not reader.is_dropped()

    with_agent_and_new_primary(version, tmp_path, talk)


def test_who_comes_back_too_early_is_dropped_again_and_who_comes_later_stays(tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent, primary: Server) -> None:
        await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
        looking = asyncio.create_task(agent.service.clients.run())
        await follow(agent, primary)
        with connected(made) as writer:
            assert writer.say("SET key value").startswith("-READONLY")
            await wait_until_dropped(writer)
        with connected(made) as idle:
            await asyncio.sleep(FOLLOWED_AFTER_S + 1.5)
            with connected(made) as reader:
                await wait_until_dropped(idle)
                assert not reader.is_dropped()
                assert reader.say("SET key value").startswith("-READONLY")
                await asyncio.sleep(1)
                assert not reader.is_dropped(), "who writes to a replica for long is not misled but mistaken"
        looking.cancel()

    with_agent_and_new_primary(NEWEST, tmp_path, talk)
