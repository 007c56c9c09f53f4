"""The agent opens its gate by the shard's record. A program that reads at the gate stands in for the server."""

import asyncio
from pathlib import Path

import pytest

from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.api_server import record
from tests.support.record_ground import RecordGround
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.agent_client import AgentClient

ORDER = pb.Order(term=1, epoch=1, pod_uid=POD_UID)
PARKED = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_PARKED)


@pytest.fixture
def ground(tmp_path: Path) -> RecordGround:
    return RecordGround(tmp_path)


@pytest.mark.parametrize("chunked", [False, True])
def test_the_primary_of_the_record_is_let_in_with_its_epoch_promised(ground: RecordGround, chunked: bool) -> None:
    async def run() -> None:
        ground.api.record, ground.api.chunked = record(epoch=5), chunked
        settings = {**ground.api.settings, "port": "6380"}
        async with ground.api.serving(), ground.running(**settings), ground.server():
            await ground.wait_until_open()
        path = "/apis/valkey.io/v1alpha1/namespaces/shop/valkeyshards/cart"
        assert ground.api.asked == [(f"GET {path} HTTP/1.1", "Bearer first")]
        assert {"port 6380", "min-replicas-to-write 0"} <= set(ground.start_conf().splitlines())
        assert (ground.promise()["term"], ground.promise()["epoch"]) == (0, 5)

    asyncio.run(run())


def test_a_record_that_does_not_decide_is_read_again_with_the_newest_token_until_it_does(ground: RecordGround) -> None:
    async def run() -> None:
        ground.api.record = record(promotable=["cart-1"])
        async with ground.api.serving(), ground.running(**ground.api.settings), ground.server():
            await ground.wait_until_asked(2)
            assert not ground.answer.exists()
            (ground.api.token_dir / "token").write_text("second")
            await ground.wait_until_asked(len(ground.api.asked) + 2)
            ground.api.record = record()
            await ground.wait_until_open()
        assert ground.api.asked[0][1] == "Bearer first"
        assert ground.api.asked[-1][1] == "Bearer second"

    asyncio.run(run())


def test_nothing_is_asked_before_a_server_waits_nor_after_an_order_let_it_in(ground: RecordGround) -> None:
    async def run() -> None:
        async with (
            ground.api.serving(),
            ground.running(**ground.api.settings),
            AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
        ):
            await ground.wait_until_it_serves()
            await asyncio.sleep(0.5)
            assert ground.api.asked == []
            async with ground.server():
                await ground.wait_until_asked(2)
                result = await client.order("Open", PARKED, timeout_s=5)
                assert result.outcome == pb.OUTCOME_OBEYED, result
                asked = len(ground.api.asked)
                ground.api.record = record()
                await asyncio.sleep(2.5)
                assert len(ground.api.asked) <= asked + 1  # one may have been on its way
        assert "replicaof 192.0.2.1 1" in ground.start_conf()

    asyncio.run(run())


def test_a_server_is_let_in_once_the_api_server_is_back(ground: RecordGround) -> None:
    async def run() -> None:
        ground.api.record = record()
        async with ground.running(**ground.api.settings), ground.server():
            await ground.wait_for("failure", lambda: "the record cannot be read" in ground.log.read_text())
            async with ground.api.serving():
                await ground.wait_until_open()

    asyncio.run(run())


def test_an_api_server_that_another_authority_vouches_for_is_not_believed(ground: RecordGround) -> None:
    async def run() -> None:
        ground.api.record = record()
        (ground.api.token_dir / "ca.crt").write_bytes(ground.authority.root.certificate)
        async with ground.api.serving(), ground.running(**ground.api.settings), ground.server():
            await ground.wait_for("refusal", lambda: "CERTIFICATE_VERIFY_FAILED" in ground.log.read_text())
            assert ground.api.asked == []
            assert not ground.answer.exists()

    asyncio.run(run())
