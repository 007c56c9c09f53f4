"""Orders, carried out on real servers through the same service that gRPC calls."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import valkey

from tests.valkey.gated import DEADLINE_S, Pod, pod
from tests.valkey.gated_agent import ORDER, Agent
from tests.valkey.servers import running
from valkey_operator.proto.agent.v1 import agent_pb2 as pb


def with_agent(version: str, folder: Path, talk: Callable[[Pod, Agent], Awaitable[None]]) -> None:
    async def run(made: Pod) -> None:
        made.start_server()
        agent = Agent(made)
        await talk(made, agent)
        agent.node.connection.close()

    with pod(version, folder) as made:
        asyncio.run(run(made))


@pytest.mark.every_version
def test_a_server_is_opened_and_configured_as_ordered(version: str, tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent) -> None:
        report = await agent.open(pb.START_KIND_FENCED_PRIMARY)
        assert (report.fenced, report.replication.role) == (True, pb.ROLE_PRIMARY)
        with made.agent_client() as client:
            client.config_set("min-replicas-to-write", 0)
            assert client.set("key", "value")
            wanted = {"maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"}
            configured = await agent.obey("Configure", pb.ConfigureRequest(order=ORDER, settings=wanted))
            assert configured.settings == {"maxmemory": str(64 * 2**20), "maxmemory-policy": "allkeys-lru"}
            client.config_set("min-replicas-to-write", 0)

    with_agent(version, tmp_path, talk)


def test_a_parked_server_refuses_writes_however_long_its_clients_were_let_wait_and_drops_them_when_released(
    version: str, tmp_path: Path
) -> None:
    async def talk(made: Pod, agent: Agent) -> None:
        await agent.open(pb.START_KIND_FENCED_PRIMARY)
        with made.agent_client() as own, made.client(timeout_s=DEADLINE_S) as writer:
            own.client_pause(60_000, all=False)
            await agent.obey("Park", pb.ParkRequest(order=ORDER))
            with pytest.raises(valkey.ReadOnlyError):
                writer.set("key", "refused")
            connections = {each["id"] for each in own.client_list(_type="normal")}
            await agent.obey("Release", pb.ReleaseRequest(order=ORDER))
            assert writer.client_id() not in connections

    with_agent(version, tmp_path, talk)


def test_a_server_that_hangs_is_killed_as_ordered_and_one_that_answers_is_not(version: str, tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent) -> None:
        await agent.open(pb.START_KIND_FENCED_PRIMARY)
        spared = await agent.service.obey("Kill", pb.KillRequest(order=ORDER))
        assert spared.outcome == pb.OUTCOME_SERVER_REFUSED
        made.processes[-1].send_signal(signal.SIGSTOP)
        killed = await agent.obey("Kill", pb.KillRequest(order=ORDER))
        assert killed.outcome == pb.OUTCOME_OBEYED
        assert made.processes[-1].wait(DEADLINE_S) == -signal.SIGKILL

    with_agent(version, tmp_path, talk)


def test_a_server_that_has_just_died_takes_no_terms(version: str, tmp_path: Path) -> None:
    """They say who could take over from it, which must not change then."""

    async def talk(made: Pod, agent: Agent) -> None:
        await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
        await agent.obey("Bind", pb.BindRequest(order=ORDER))
        made.processes[-1].kill()
        made.processes[-1].wait(timeout=DEADLINE_S)
        result = await agent.service.obey("Bind", pb.BindRequest(order=ORDER))
        assert result.outcome == pb.OUTCOME_NOT_RUNNING, result

    with_agent(version, tmp_path, talk)


def test_a_node_whose_server_does_not_answer_tells_what_it_knows_instead_of_nothing(
    version: str, tmp_path: Path
) -> None:
    async def talk(made: Pod, agent: Agent) -> None:
        known = await agent.open(pb.START_KIND_FENCED_PRIMARY)
        made.processes[-1].send_signal(signal.SIGSTOP)
        # Whoever waits until it is known to hang gets no answer in time.
        told = await agent.service.report(pb.ReportRequest())
        assert (told.health, told.replication) == (pb.HEALTH_ANSWERS, known.replication)

    with_agent(version, tmp_path, talk)


@pytest.mark.every_version
def test_a_node_follows_is_parked_and_promoted_with_the_data_it_was_chosen_for(version: str, tmp_path: Path) -> None:
    async def talk(made: Pod, agent: Agent) -> None:
        with running(version) as primary, primary.client() as client:
            client.set("key", "value")
            await agent.open(pb.START_KIND_PARKED)
            address = pb.Address(host="127.0.0.1", port=primary.port)
            await agent.obey("Follow", pb.FollowRequest(order=ORDER, primary=address))
            await agent.wait_for("the link is up", lambda report: report.replication.link.up)
            parked = (await agent.obey("Park", pb.ParkRequest(order=ORDER))).report.replication
            assert parked.link.primary.host == "192.0.2.1"
        wrong = pb.PromoteRequest(order=ORDER, replication_id="f" * 40, at_least_offset=parked.offset)
        assert (await agent.service.obey("Promote", wrong)).outcome == pb.OUTCOME_OTHER_HISTORY
        too_much = pb.PromoteRequest(
            order=ORDER, replication_id=parked.replication_id, at_least_offset=parked.offset + 1
        )
        assert (await agent.service.obey("Promote", too_much)).outcome == pb.OUTCOME_BEHIND
        chosen = pb.PromoteRequest(order=ORDER, replication_id=parked.replication_id, at_least_offset=parked.offset)
        promoted = (await agent.obey("Promote", chosen)).report.replication
        assert promoted.role == pb.ROLE_PRIMARY
        assert promoted.former_replication_id == parked.replication_id
        with made.agent_client() as client:
            assert client.get("key") == "value"
            assert client.set("key", "other")

    with_agent(version, tmp_path, talk)


def test_a_setting_the_server_does_not_know_is_refused_by_it_in_its_words(version: str, tmp_path: Path) -> None:
    async def talk(_made: Pod, agent: Agent) -> None:
        await agent.open(pb.START_KIND_FENCED_PRIMARY)
        request = pb.ConfigureRequest(order=ORDER, settings={"maxmemorry": "1"})
        result = await agent.service.obey("Configure", request)
        assert result.outcome == pb.OUTCOME_SERVER_REFUSED
        assert "maxmemorry" in result.detail

    with_agent(version, tmp_path, talk)


def test_no_permission_is_given_twice(version: str, tmp_path: Path) -> None:
    async def talk(_made: Pod, agent: Agent) -> None:
        await agent.open(pb.START_KIND_FENCED_PRIMARY)
        again = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_WRITABLE_PRIMARY)
        assert (await agent.service.obey("Open", again)).outcome == pb.OUTCOME_NOBODY_WAITS
        assert (await agent.service.report(pb.ReportRequest())).health == pb.HEALTH_ANSWERS

    with_agent(version, tmp_path, talk)
