"""Two agents as processes, of two pods on one data folder; programs that read at the gates stand in for servers."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.api_server import record
from tests.support.record_ground import RecordGround
from valkey_operator.agent.volume import LOCK_FILE
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.agent_client import AgentClient


class Shared(RecordGround):
    """A pod of the same node, with a gate of its own, whose data folder is another pod's."""

    def __init__(self, folder: Path, data: Path, pod_uid: str) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.api.record = record()
        self.settings = {**self.api.settings, "data": str(data), "pod_uid": pod_uid}

    def says(self, words: str) -> int:
        return self.log.read_text().count(words)

    async def wait_until_it_says(self, words: str, times: int = 1) -> None:
        await self.wait_for(f"{words!r} in its log", lambda: self.says(words) >= times)


@pytest.fixture
def pods(tmp_path: Path) -> tuple[Shared, Shared]:
    data = tmp_path / "volume"
    data.mkdir()
    return Shared(tmp_path / "first", data, POD_UID), Shared(tmp_path / "second", data, "uid-2")


def test_a_second_pod_lets_no_server_in_until_the_first_ended_in_order(pods: tuple[Shared, Shared]) -> None:
    first, second = pods

    async def run() -> None:
        async with first.api.serving(), second.api.serving(), first.running(**first.settings) as holder:
            async with first.server():
                await first.wait_until_open()
                async with second.running(**second.settings), second.server():
                    await second.wait_until_asked(2)
                    await second.wait_until_it_says(f"pod {POD_UID} has the data folder")
                    assert not second.answer.exists()
            async with second.running(**second.settings), second.server():
                # The server of the first is gone by now, and its agent ends.
                holder.send_signal(signal.SIGTERM)
                await second.wait_until_open()
        assert second.says("may come back") == 0

    asyncio.run(run())


def test_an_order_to_open_is_refused_while_another_pod_has_the_folder(pods: tuple[Shared, Shared]) -> None:
    first, second = pods
    order = pb.OpenRequest(order=pb.Order(term=1, epoch=1, pod_uid="uid-2"), kind=pb.START_KIND_PARKED)

    async def run() -> None:
        files = second.files("op", OPERATOR)
        async with first.running(**first.settings), first.api.serving():
            await first.wait_until_it_serves()
            async with (
                second.running(**second.settings),
                second.server(),
                AgentClient(f"127.0.0.1:{second.grpc_port}", NODE, files) as client,
            ):
                await second.wait_until_it_takes_orders()
                result = await client.order("Open", order, timeout_s=5)
        assert (result.outcome, result.detail) == (pb.OUTCOME_VOLUME_TAKEN, f"pod {POD_UID} has the data folder")
        assert not second.answer.exists()

    asyncio.run(run())


def test_an_agent_that_is_killed_beside_its_server_loses_its_folder_to_nobody(pods: tuple[Shared, Shared]) -> None:
    first, second = pods
    waits, back = f"pod {POD_UID} may come back", f"pod {POD_UID} has the data folder"

    async def run() -> None:
        serving = first.api.serving(), second.api.serving()
        async with serving[0], serving[1], first.running(**first.settings) as holder, first.server():
            await first.wait_until_open()
            async with second.running(**second.settings), second.server():
                await second.wait_until_it_says(back)
                holder.kill()
                await second.wait_until_it_says(waits)
                held = second.says(back)
                async with first.running(**first.settings):
                    await second.wait_until_it_says(back, held + 1)
                assert not second.answer.exists()

    asyncio.run(run())


def test_an_agent_that_stops_beside_its_server_keeps_the_folder_for_its_pod(pods: tuple[Shared, Shared]) -> None:
    first, second = pods

    async def run() -> None:
        serving = first.api.serving(), second.api.serving()
        async with serving[0], serving[1], first.running(**first.settings) as holder, first.server():
            await first.wait_until_open()
            holder.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(holder.wait(), 10) == 0
            async with second.running(**second.settings), second.server():
                await second.wait_until_it_says(f"pod {POD_UID} may come back")
                await second.wait_until_asked(2)
                assert not second.answer.exists()

    asyncio.run(run())


def test_a_server_is_let_in_where_the_folder_cannot_be_locked(pods: tuple[Shared, Shared], tmp_path: Path) -> None:
    first, _ = pods
    (tmp_path / "volume" / LOCK_FILE).mkdir()

    async def run() -> None:
        async with first.api.serving(), first.running(**first.settings), first.server():
            await first.wait_until_open()
        assert first.says("the data folder cannot be locked") == 1

    asyncio.run(run())
