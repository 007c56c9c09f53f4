"""Cluster nodes behind their gates: what they report, and orders carried out on real servers of every version."""

import asyncio
import signal
from pathlib import Path

import pytest
import valkey

from tests.valkey.cluster_agents import ClusterAgent, form, wait_until_known, with_cluster_agents
from valkey_operator.controllers.agents.messages import view_of
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.node_view import ClusterNodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.info import Role

HANDED_OVER_WITHIN_S = 60


@pytest.mark.every_version
def test_a_node_announces_what_it_was_told_and_comes_back_with_the_file_that_it_has(
    version: str, tmp_path: Path
) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        (agent,) = agents
        own = (await agent.seen()).myself
        assert (own.hostname, own.address) == ("c-0", Address("127.0.0.1", agent.made.port))
        await agent.order("AddSlots", slots="0-16383")
        await agent.kill()
        agent.made.start_server()
        report = await agent.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
        kept = view_of(report).kept_nodes
        assert kept
        assert (kept.myself.id, len(kept.myself.slots)) == (own.id, 16384)
        report = await agent.let_in()
        assert (report.kept_nodes, report.fenced, report.server.mode) == ("", False, "cluster")
        assert (await agent.id()) == own.id

    with_cluster_agents(version, tmp_path, 1, talk)


@pytest.mark.every_version
def test_a_cluster_is_formed_by_orders_that_are_each_given_twice(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents)
        for agent in agents:
            seen = await agent.seen()
            lines = [seen.line(each) for each in ids[:3]]
            assert [line.slots for line in lines if line] == first_slots(3)
            assert {line.hostname for line in seen.lines} == {"c-0", "c-1", "c-2", "c-3"}
        copy = (await agents[3].seen()).myself
        assert (copy.role, copy.primary, copy.epoch) == (Role.REPLICA, ids[0], 1)

    with_cluster_agents(version, tmp_path, 4, talk)


@pytest.mark.every_version
def test_a_server_refuses_in_its_own_words_what_it_cannot_be(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        await form(agents, primaries=2)
        primary = pb.Address(host="127.0.0.1", port=agents[1].made.port)
        refused = [
            (await agents[0].try_order("Follow", primary=primary), "not allowed in cluster mode"),
            (await agents[0].try_order("AddSlots", slots="16383"), "already busy"),
            (await agents[0].try_order("SetConfigEpoch", config_epoch=9), "does not know any other node"),
            (await agents[0].try_order("Replicate", primary_id="f" * 40), "Unknown node"),
            (await agents[0].try_order("Forget", id=await agents[0].id()), "can't forget myself"),
        ]
        for result, words in refused:
            assert result.outcome == pb.OUTCOME_SERVER_REFUSED
            assert words in result.detail

    with_cluster_agents(version, tmp_path, 2, talk)


def test_neither_gossip_nor_writes_are_news(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        await form(agents, primaries=2)
        with agents[0].made.agent_client() as client:
            client.execute_command("SET", "{06S}", "1")  # slot 0
            await asyncio.sleep(0.5)
            before = [await agent.service.report(pb.ReportRequest()) for agent in agents]
            for number in range(200):
                client.execute_command("SET", f"{{06S}}{number}", "value")
            await asyncio.sleep(2.5)
            after = [await agent.service.report(pb.ReportRequest()) for agent in agents]
        assert [report.seq for report in after] == [report.seq for report in before]
        assert after[0].cluster.keys == 201
        assert after[0].cluster.used_bytes > before[0].cluster.used_bytes

    with_cluster_agents(version, tmp_path, 2, talk)


@pytest.mark.every_version
def test_a_primary_that_lacks_the_replicas_of_its_settings_refuses_writes_in_cluster_mode_too(
    version: str, tmp_path: Path
) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        (agent,) = agents
        await agent.order("AddSlots", slots="0-16383")
        await agent.wait_until_it_serves()
        with agent.made.agent_client() as client, pytest.raises(valkey.ResponseError, match="NOREPLICAS"):
            client.execute_command("SET", "key", "value")

    with_cluster_agents(version, tmp_path, 1, talk, min_replicas_to_write="1")


@pytest.mark.every_version
def test_a_replica_takes_over_as_ordered_and_says_when_it_could_not(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents)
        heir = agents[3]
        other = await heir.try_order("Failover", kind=pb.FAILOVER_KIND_PLANNED, primary_id=ids[1])
        assert (other.outcome, ids[0] in other.detail) == (pb.OUTCOME_OTHER_STATE, True)
        done = await heir.order_twice("Failover", kind=pb.FAILOVER_KIND_PLANNED, primary_id=ids[0])
        assert done.report.replication.role == pb.ROLE_PRIMARY
        await wait_until_known(agents, ids[0], ids[3])
        await agents[0].wait_for("in sync", lambda report: report.replication.link.up)
        await heir.kill()
        await agents[0].order("Failover", kind=pb.FAILOVER_KIND_FORCE, primary_id=ids[3])
        assert first_slots(3)[0] == (await agents[0].seen()).myself.slots

    with_cluster_agents(version, tmp_path, 4, talk)


@pytest.mark.every_version
def test_a_primary_is_not_asked_to_hand_over_while_the_votes_for_its_replica_would_be_lost(
    version: str, tmp_path: Path
) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents)
        heir, voters = agents[3], [agent.made.processes[-1] for agent in agents[1:3]]
        for voter in voters:
            voter.send_signal(signal.SIGSTOP)
        with heir.made.agent_client() as client:
            for peer in ids[1:3]:
                client.execute_command("DEBUG", "CLUSTERLINK", "KILL", "FROM", peer)
        told = await heir.try_order("Failover", kind=pb.FAILOVER_KIND_PLANNED, primary_id=ids[0])
        assert told.outcome == pb.OUTCOME_UNFINISHED
        assert "cannot send their votes yet" in told.detail
        with agents[0].made.agent_client() as client:
            client.execute_command("SET", "{06S}", "slot 0")
        for voter in voters:
            voter.send_signal(signal.SIGCONT)
        async with asyncio.timeout(HANDED_OVER_WITHIN_S):
            while told.outcome == pb.OUTCOME_UNFINISHED:
                told = await heir.try_order("Failover", kind=pb.FAILOVER_KIND_PLANNED, primary_id=ids[0])
        assert told.report.replication.role == pb.ROLE_PRIMARY

    settings = {"enable_debug_command": "local", "cluster_node_timeout": "20000"}
    with_cluster_agents(version, tmp_path, 4, talk, **settings)


@pytest.mark.every_version
def test_whoever_follows_another_primary_has_no_copy_of_its_data_before_their_link_is_up(
    version: str, tmp_path: Path
) -> None:
    """A failover by force to such a one would lose all that its primary still has on disk."""

    async def talk(agents: list[ClusterAgent]) -> None:
        *formed, new = agents
        ids = await form(formed)
        await new.order("Meet", peers=[formed[0].bus_address])
        await new.wait_until("it knows all owners", lambda view: {line.id for line in view.seen.lines} >= set(ids[:3]))
        await wait_until_known(formed, ids[3], ids[0])
        formed[2].made.processes[-1].send_signal(signal.SIGSTOP)
        for agent in (new, formed[3]):
            result = await agent.order("Replicate", primary_id=ids[2])
            assert (result.report.replication.link.up, result.report.whole) == (False, False)
        formed[2].made.processes[-1].send_signal(signal.SIGCONT)
        for agent in (new, formed[3]):
            await agent.wait_for("the replica is in sync", lambda report: report.replication.link.up and report.whole)

    with_cluster_agents(version, tmp_path, 5, talk)


@pytest.mark.every_version
def test_without_a_majority_a_forced_failover_is_unfinished_and_a_takeover_is_done(
    version: str, tmp_path: Path
) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents)
        await agents[0].kill()
        await agents[1].kill()
        forced = await agents[3].try_order("Failover", kind=pb.FAILOVER_KIND_FORCE, primary_id=ids[0], within_ms=300)
        assert (forced.outcome, "no primary after 0.3 s" in forced.detail) == (pb.OUTCOME_UNFINISHED, True)
        taken = await agents[3].order_twice("Failover", kind=pb.FAILOVER_KIND_TAKEOVER, primary_id=ids[0])
        assert taken.report.replication.role == pb.ROLE_PRIMARY
        await agents[3].order_twice("BumpEpoch")
        own = (await agents[3].seen()).myself
        assert own.epoch > max(line.epoch for line in (await agents[3].seen()).others)

    with_cluster_agents(version, tmp_path, 4, talk)


@pytest.mark.every_version
def test_a_replica_is_reset_and_forgotten_and_an_owner_of_slots_is_not_reset(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents, primaries=1)
        spared = await agents[0].try_order("Reset")
        assert (spared.outcome, "0-16383" in spared.detail) == (pb.OUTCOME_OTHER_STATE, True)
        await agents[1].order_twice("Reset")
        seen = await agents[1].seen()
        assert (seen.myself.id, seen.myself.role, seen.others) == (ids[1], Role.PRIMARY, ())
        await agents[0].order_twice("Forget", id=ids[1])
        assert (await agents[0].seen()).others == ()

    with_cluster_agents(version, tmp_path, 2, talk)


def test_a_node_that_fails_is_news(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        ids = await form(agents)
        await agents[2].kill()

        def is_failed(view: ClusterNodeView) -> bool:
            line = view.seen.line(ids[2])
            return line is not None and line.failing is Failing.AGREED

        before = agents[0].node.report.seq
        await agents[0].wait_until("the others agree that it failed", is_failed)
        assert agents[0].node.report.seq > before

    with_cluster_agents(version, tmp_path, 3, talk)
