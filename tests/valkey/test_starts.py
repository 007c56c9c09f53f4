"""Starts that the shard's record decides, with real servers; the record is a value of the test."""

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path

import pytest
import valkey

from tests.support.ports import free_port
from tests.valkey.gated import WRITABLE, Pod, pod, without_delay
from tests.valkey.gated_agent import Agent
from valkey_operator.agent.record import Known, ShardRecord
from valkey_operator.agent.starter import Starter, StartRules
from valkey_operator.proto.agent.v1 import agent_pb2 as pb


class Recorded(Agent):
    """An agent whose gate opens by `record`; a primary's name leads to loopback, and to `primary_port` there."""

    def __init__(self, made: Pod, record: ShardRecord, primary_port: int = 0, **places: Path) -> None:
        super().__init__(made, **places)
        self.record = record
        self.reads = 0
        self.resolved: list[str] = []
        rules = StartRules(node="cart-0", primary_domain="shop.svc", port=primary_port)
        self._starter = Starter(self.node, self._read, rules, resolve=self._resolve, chance=random.Random(1))

    async def _read(self) -> Known:
        self.reads += 1
        return Known(self.record, asyncio.get_running_loop().time())

    async def _resolve(self, host: str) -> str:
        self.resolved.append(host)
        return "127.0.0.1"

    def works(self) -> list[Coroutine[None, None, None]]:
        return [*super().works(), self._starter.run()]


@pytest.mark.every_version
def test_the_primary_of_the_record_takes_writes_at_once_and_again_after_its_death(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Recorded(made, ShardRecord(epoch=3, primary="cart-0"))
        async with agent.working():
            for _ in range(2):
                server = made.start_server()
                report = await agent.wait_for_health()
                assert (report.replication.role, report.fenced, report.promised_epoch) == (pb.ROLE_PRIMARY, False, 3)
                with made.agent_client() as client:
                    assert client.set("key", "value")
                server.kill()
                await agent.wait_for("it is gone", lambda report: report.process == pb.PROCESS_STATE_GONE)
                server.wait(timeout=10)

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


@pytest.mark.every_version
def test_a_replica_is_let_in_when_its_primary_listens_and_has_its_data_at_once(version: str, tmp_path: Path) -> None:
    async def run(primary: Pod, made: Pod) -> None:
        agent = Recorded(made, ShardRecord(epoch=3, primary="cart-1"), primary.port)
        async with agent.working():
            made.start_server()
            await agent.wait_for("the primary is looked for", lambda _: bool(agent.resolved))
            await asyncio.sleep(0.5)
            await agent.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
            primary.start_server()
            primary.open_as(WRITABLE, settings_file=without_delay(primary))
            report = await agent.wait_for("its link is up", lambda report: report.replication.link.up)
        link = report.replication.link
        assert (link.primary.host, link.primary.port) == ("127.0.0.1", primary.port)
        assert agent.resolved[0] == "cart-1.shop.svc"

    with pod(version, tmp_path / "cart-1") as primary, pod(version, tmp_path / "cart-0") as made:
        asyncio.run(run(primary, made))


def test_a_replica_is_let_in_without_its_primary_when_the_wait_is_over(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Recorded(made, ShardRecord(epoch=3, primary="cart-1"), free_port())
        async with agent.working():
            made.start_server()
            report = await agent.wait_for_health()
            assert (report.replication.role, report.replication.link.up) == (pb.ROLE_REPLICA, False)
            assert agent.reads > 1, "the record was not read again after the wait"

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


def test_a_primary_that_others_could_replace_waits_for_the_operator(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Recorded(made, ShardRecord(epoch=3, primary="cart-0", promotable=("cart-1",)))
        async with agent.working():
            server = made.start_server()
            made.wait_at_gate(server)
            await agent.wait_for("the record was read", lambda _: agent.reads > 1)
            made.wait_at_gate(server)
            agent.record = ShardRecord(epoch=4, primary="cart-0")
            await agent.wait_for_health()
            with made.agent_client() as client:
                assert client.set("key", "value")
            reads = agent.reads
            await asyncio.sleep(1.5)
            assert agent.reads == reads, "the record was read although the server runs"

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


def test_a_password_file_ends_in_one_line_break_that_is_not_part_of_it(version: str, tmp_path: Path) -> None:
    password_file = tmp_path / "password"

    async def run(made: Pod) -> None:
        agent = Recorded(made, ShardRecord(epoch=3, primary="cart-0"), password_file=password_file)
        async with agent.working():
            for text, password in (("secret\n", "secret"), ("other\n\n", "other\n"), ("plain", "plain")):
                password_file.write_text(text)
                server = made.start_server()
                await agent.wait_for_health()
                with made.client("default", password) as client:
                    assert client.ping()
                with made.client("default", "wrong") as client, pytest.raises(valkey.AuthenticationError):
                    client.ping()
                server.kill()
                await agent.wait_for("it is gone", lambda report: report.process == pb.PROCESS_STATE_GONE)
                server.wait(timeout=10)

    with pod(version, tmp_path / "pod") as made:
        asyncio.run(run(made))
