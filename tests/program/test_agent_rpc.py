"""Orders over gRPC with mutual TLS: who is served, who is refused, and what versions apart still understand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.support.agents import NODE, OPERATOR, POD_UID, lonely_node, serving
from tests.support.certificates import Authority, write_tls
from tests.support.ports import free_port
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.agent_client import AgentClient
from valkey_operator.wire.identity import Identity, node_identity, operator_identity
from valkey_operator.wire.tls import TlsFiles


class Ground:
    """Certificates of one authority, and an agent that shows one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority()
        self.agent_files = self.files("agent", NODE)
        self.operator_files = self.files("operator", OPERATOR)

    def files(self, name: str, identity: Identity, authority: Authority | None = None) -> TlsFiles:
        leaf = (authority or self.authority).leaf(identity)
        return write_tls(self.folder / name, leaf, self.authority.root.certificate)

    def run(self, talk: Callable[[str], Awaitable[None]]) -> None:
        async def serve_and_talk() -> None:
            gate = self.folder / "gate"
            gate.mkdir()
            async with serving(lonely_node(gate), self.agent_files, free_port()) as address:
                await talk(address)

        asyncio.run(serve_and_talk())


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


async def report_from(address: str, files: TlsFiles, expected: Identity = NODE) -> pb.NodeReport:
    async with AgentClient(address, expected, files) as client:
        return await client.report(timeout_s=5)


async def assert_refused(address: str, files: TlsFiles, code: grpc.StatusCode, expected: Identity = NODE) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await report_from(address, files, expected)
    assert caught.value.code() is code, caught.value.details()


async def call_raw(channel: grpc.aio.Channel, method: str, body: bytes) -> bytes:
    """Call with bytes of our own making."""
    call = channel.unary_unary(f"/valkey_operator.agent.v1.Agent/{method}", bytes, bytes)
    reply: bytes = await call(body, timeout=5)
    return reply


def test_the_operator_gets_a_report(ground: Ground) -> None:
    async def talk(address: str) -> None:
        report = await report_from(address, ground.operator_files)
        assert (report.pod_uid, report.process) == (POD_UID, pb.PROCESS_STATE_SHUT)

    ground.run(talk)


def test_another_name_of_the_same_authority_is_refused(ground: Ground) -> None:
    async def talk(address: str) -> None:
        for index, other in enumerate((NODE, node_identity("shop", "operator"), operator_identity("elsewhere"))):
            files = ground.files(f"other{index}", other)
            await assert_refused(address, files, grpc.StatusCode.PERMISSION_DENIED)

    ground.run(talk)


def test_the_right_name_of_another_authority_is_refused(ground: Ground) -> None:
    async def talk(address: str) -> None:
        files = ground.files("stranger", OPERATOR, Authority())
        await assert_refused(address, files, grpc.StatusCode.UNAVAILABLE)

    ground.run(talk)


def test_a_caller_without_a_certificate_is_refused(ground: Ground) -> None:
    async def talk(address: str) -> None:
        credentials = grpc.ssl_channel_credentials(ground.operator_files.roots.read_bytes())
        options = [("grpc.ssl_target_name_override", NODE.host_name)]
        async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call_raw(channel, "Report", b"")
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    ground.run(talk)


def test_a_caller_without_tls_is_refused(ground: Ground) -> None:
    async def talk(address: str) -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await call_raw(channel, "Report", b"")

    ground.run(talk)


def test_an_agent_with_the_name_of_another_node_is_not_spoken_to(ground: Ground) -> None:
    async def talk(address: str) -> None:
        wrong = node_identity("shop", "cart-1")
        await assert_refused(address, ground.operator_files, grpc.StatusCode.UNAVAILABLE, wrong)

    ground.run(talk)


def test_a_new_authority_is_taken_up_without_a_restart(ground: Ground) -> None:
    async def talk(address: str) -> None:
        new = Authority()
        operator = write_tls(ground.folder / "new", new.leaf(OPERATOR), new.root.certificate)
        await assert_refused(address, operator, grpc.StatusCode.UNAVAILABLE)
        both = ground.authority.root.certificate + new.root.certificate
        write_tls(ground.agent_files.folder, ground.authority.leaf(NODE), both)
        operator.roots.write_bytes(both)
        await report_from(address, operator)
        await report_from(address, ground.operator_files)
        write_tls(ground.agent_files.folder, new.leaf(NODE), new.root.certificate)
        operator.roots.write_bytes(new.root.certificate)
        await report_from(address, operator)
        await assert_refused(address, ground.operator_files, grpc.StatusCode.UNAVAILABLE)

    ground.run(talk)


def test_while_the_files_are_missing_the_former_certificate_is_shown(ground: Ground) -> None:
    async def talk(address: str) -> None:
        ground.agent_files.key.unlink()
        await report_from(address, ground.operator_files)

    ground.run(talk)


def test_refusals_are_typed_and_a_promise_outlives_the_order(ground: Ground) -> None:
    async def talk(address: str) -> None:
        async with AgentClient(address, NODE, ground.operator_files) as client:

            async def park(term: int, epoch: int, uid: str = POD_UID) -> pb.Result:
                request = pb.ParkRequest(order=pb.Order(term=term, epoch=epoch, pod_uid=uid))
                return await client.order("Park", request, timeout_s=5)

            assert (await park(2, 5)).outcome == pb.OUTCOME_NOT_RUNNING
            refused = await park(1, 9)
            assert refused.outcome == pb.OUTCOME_OLD_TERM
            assert (refused.report.promised_term, refused.report.promised_epoch) == (2, 5)
            assert (await park(3, 4)).outcome == pb.OUTCOME_OLD_EPOCH
            assert (await park(3, 6, "other")).outcome == pb.OUTCOME_OTHER_POD
            opened = pb.OpenRequest(order=pb.Order(term=2, epoch=5, pod_uid=POD_UID), kind=pb.START_KIND_PARKED)
            assert (await client.order("Open", opened, timeout_s=5)).outcome == pb.OUTCOME_NOBODY_WAITS
        assert lonely_node(ground.folder / "gate").report.facts.promise.epoch == 5

    ground.run(talk)


def older_report(newest_field: int) -> Any:
    """NodeReport as of a release that knew no field above `newest_field`."""
    old = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(old)
    for message in old.message_type:
        kept = [field for field in message.field if field.number <= newest_field or field.HasField("oneof_index")]
        del message.field[:]
        message.field.extend(kept)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(old)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("valkey_operator.agent.v1.NodeReport"))


def test_an_operator_of_an_older_release_reads_what_it_knows_in_a_newer_report() -> None:
    older = older_report(5)
    newer = pb.NodeReport(pod_uid="uid", seq=4, process=pb.PROCESS_STATE_GONE, leaving=True, promised_epoch=3)
    read = older.FromString(newer.SerializeToString())
    assert (read.pod_uid, read.seq, read.process) == ("uid", 4, 5)
    assert not hasattr(read, "leaving")


def test_an_agent_of_an_older_release_is_read_with_its_gaps() -> None:
    older = older_report(5)
    read = pb.NodeReport.FromString(older(pod_uid="uid", seq=4, process=2).SerializeToString())
    assert (read.process, read.health, read.HasField("fenced")) == (pb.PROCESS_STATE_WAITING, 0, False)


def test_an_order_with_fields_from_the_future_is_served(ground: Ground) -> None:
    async def talk(address: str) -> None:
        pems = ground.operator_files
        credentials = grpc.ssl_channel_credentials(
            pems.roots.read_bytes(), pems.key.read_bytes(), pems.certificate.read_bytes()
        )
        options = [("grpc.ssl_target_name_override", NODE.host_name)]
        order = pb.ParkRequest(order=pb.Order(term=1, epoch=1, pod_uid=POD_UID)).SerializeToString()
        from_the_future = order + bytes([0b1111_1010, 0b0000_0001, 3]) + b"new"  # field 31, bytes
        async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
            reply = await call_raw(channel, "Park", from_the_future)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call_raw(channel, "Fly", b"")
        assert pb.Result.FromString(reply).outcome == pb.OUTCOME_NOT_RUNNING
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    ground.run(talk)


def test_an_order_that_its_caller_gives_up_makes_room_for_the_next_one(ground: Ground) -> None:
    """A failover does not wait for what was under way at its node."""
    gate = ground.folder / "gate"
    gate.mkdir()
    node = lonely_node(gate)

    async def give_up_and_go_on() -> None:
        async with (
            serving(node, ground.agent_files, free_port()) as address,
            AgentClient(address, NODE, ground.operator_files) as client,
        ):
            order = pb.Order(term=1, epoch=1, pod_uid=POD_UID)
            async with node.turn:
                slow = asyncio.create_task(client.order("Park", pb.ParkRequest(order=order), timeout_s=30))
                await asyncio.sleep(0.2)
                slow.cancel()
                await asyncio.wait([slow])
                await asyncio.sleep(0.2)
                assert not any(node.turn._waiters or ()), "it would be carried out later"  # noqa: SLF001
            assert (await client.order("Park", pb.ParkRequest(order=order), timeout_s=5)).outcome

    asyncio.run(give_up_and_go_on())
