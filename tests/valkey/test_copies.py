"""The mark beside the data, and the offset in a snapshot, with real servers."""

import asyncio
from pathlib import Path

import pytest

from tests.support.agents import POD_UID
from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import Agent
from tests.valkey.servers import Server, running
from valkey_operator.agent.persisted import CopyMark, DataFolder
from valkey_operator.proto.agent.v1 import agent_pb2 as pb


def order(epoch: int) -> pb.Order:
    return pb.Order(term=1, epoch=epoch, pod_uid=POD_UID)


async def wait_for_mark(agent: Agent, epoch: int, *, was_primary: bool) -> None:
    await agent.wait_for(
        f"mark of epoch {epoch}, was_primary {was_primary}",
        lambda report: (report.persisted.epoch, report.persisted.was_primary) == (epoch, was_primary),
    )


@pytest.mark.every_version
def test_the_mark_follows_the_role_from_epoch_to_epoch(version: str, tmp_path: Path) -> None:
    async def run(made: Pod, other: Server) -> None:
        agent = Agent(made)
        folder = DataFolder(made.folder / "data")
        made.start_server()
        async with agent.working():
            await agent.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
            await agent.obey("Open", pb.OpenRequest(order=order(1), kind=pb.START_KIND_FENCED_PRIMARY))
            history = (await agent.wait_for_health()).replication.replication_id
            await asyncio.sleep(1)
            assert folder.read_mark() is None, "a fenced primary was marked"
            with made.agent_client() as client:
                client.config_set("min-replicas-to-write", 0)
            await agent.obey("Promote", pb.PromoteRequest(order=order(1), replication_id=history))
            await wait_for_mark(agent, 1, was_primary=True)
            await agent.obey("Park", pb.ParkRequest(order=order(2)))
            await asyncio.sleep(1)
            assert folder.read_mark() == CopyMark(1, was_primary=True), "a parked server was marked"
            address = pb.Address(host="127.0.0.1", port=other.port)
            await agent.obey("Follow", pb.FollowRequest(order=order(3), primary=address))
            await wait_for_mark(agent, 3, was_primary=False)
            replication = (await agent.service.report(pb.ReportRequest())).replication
            chosen = pb.PromoteRequest(order=order(4), replication_id=replication.replication_id)
            await agent.obey("Promote", chosen)
            await wait_for_mark(agent, 4, was_primary=True)
        assert folder.read_mark() == CopyMark(4, was_primary=True)

    with pod(version, tmp_path) as made, running(version) as other:
        asyncio.run(run(made, other))


def test_a_primary_that_did_not_hear_the_order_to_park_is_not_marked_with_its_epoch(
    version: str, tmp_path: Path
) -> None:
    async def run(made: Pod) -> None:
        agent = Agent(made)
        made.start_server()
        async with agent.working():
            await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            await wait_for_mark(agent, 1, was_primary=True)
            with made.agent_client() as client:
                client.execute_command("ACL", "SETUSER", "valkey-operator-agent", "-replicaof")
                result = await agent.service.obey("Park", pb.ParkRequest(order=order(2)))
                assert result.outcome == pb.OUTCOME_SERVER_REFUSED, result
            assert (result.report.promised_epoch, result.report.replication.role) == (2, pb.ROLE_PRIMARY)
            await asyncio.sleep(1)
        assert DataFolder(made.folder / "data").read_mark() == CopyMark(1, was_primary=True)

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


@pytest.mark.every_version
def test_the_offset_of_a_snapshot_is_the_one_the_primary_had_when_it_was_made(version: str, tmp_path: Path) -> None:
    with running(version) as primary, primary.client() as client:
        client.save()
        assert DataFolder(primary.folder).look().offset == 0, "an offset without a replica"
        with running(version, replicaof=f"127.0.0.1 {primary.port}"):
            for index in range(100):
                client.set(f"key{index}", "x" * index)
            client.wait(1, 10_000)
            before = client.info("replication")["master_repl_offset"]
            client.save()
            after = client.info("replication")["master_repl_offset"]
        look = DataFolder(primary.folder).look()
    assert look.rdb
    assert 0 < before <= look.offset <= after, f"{before} <= {look.offset} <= {after}"
