"""Settings that change while a server runs, on real servers: set, set back, refused, and known after a restart."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import valkey

from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import ORDER, Agent
from valkey_operator.agent.live_settings import NOT_KNOWN, under_way
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.conf import parse_conf
from valkey_operator.valkey.live import by_name, live_settings, settings_digest

SETTINGS = "maxmemory 64mb\nhz 20\ndatabases 3\nmin-replicas-to-write 0\n"


class Settled(Agent):
    """An agent with a settings file, as in a pod."""

    def __init__(self, made: Pod, text: str = SETTINGS) -> None:
        self.file = made.folder / "valkey.conf"
        self.file.write_text(text)
        super().__init__(made, settings_file=self.file)
        self.made = made

    async def start(self, kind: pb.StartKind = pb.START_KIND_WRITABLE_PRIMARY) -> pb.NodeReport:
        self.made.start_server()
        return await self.open(kind)

    async def configure(self, wanted: Mapping[str, str]) -> pb.Result:
        return await self.service.obey("Configure", pb.ConfigureRequest(order=ORDER, settings=wanted))

    async def digest(self) -> str:
        return (await self.service.report(pb.ReportRequest())).settings_digest


def digest_of(text: str) -> str:
    return settings_digest(live_settings(by_name(parse_conf(text))))


@dataclass
class Ground:
    """A pod, and one agent after the other in it."""

    pod: Pod
    agents: list[Settled] = field(default_factory=list)

    def agent(self, text: str = SETTINGS) -> Settled:
        self.agents.append(Settled(self.pod, text))
        return self.agents[-1]

    def kill_server(self) -> None:
        self.pod.processes[-1].kill()
        self.pod.processes[-1].wait(timeout=10)

    def says(self, *names: str) -> Any:
        with self.pod.agent_client() as client:
            return client.config_get(*names)


def run(version: str, folder: Path, talk: Callable[[Ground], Awaitable[None]]) -> None:
    async def in_order(ground: Ground) -> None:
        try:
            await talk(ground)
        finally:
            for agent in ground.agents:
                agent.node.connection.close()

    with pod(version, folder) as made:
        asyncio.run(in_order(Ground(made)))


@pytest.mark.every_version
def test_settings_are_set_read_back_and_set_back_without_a_restart(version: str, tmp_path: Path) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent()
        report = await agent.start()
        assert report.settings_digest == digest_of(SETTINGS)

        wanted = {"maxmemory": "1gb", "save": "900 1", "client-output-buffer-limit": "normal 1mb 0 0"}
        done = await agent.configure(wanted)
        assert done.outcome == pb.OUTCOME_OBEYED, done
        assert (done.settings["maxmemory"], done.settings["save"]) == (str(1 << 30), "900 1")
        assert done.report.settings_digest == settings_digest(wanted)
        with ground.pod.agent_client() as client:
            assert client.config_get("hz") == {"hz": "10"}, "what was in the file and is not wanted is set back"
            assert client.config_get("databases") == {"databases": "3"}
            assert client.info("server")["process_id"] == ground.pod.processes[-1].pid

        done = await agent.configure({})
        assert done.outcome == pb.OUTCOME_OBEYED, done
        assert ground.says("maxmemory", "save") == {"maxmemory": "0", "save": "3600 1 300 100 60 10000"}

    run(version, tmp_path, talk)


@pytest.mark.every_version
def test_a_refused_value_changes_nothing_and_the_next_good_one_heals(version: str, tmp_path: Path) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent()
        await agent.start()
        bad = await agent.configure({"maxmemory": "lots", "hz": "30", "timeout": "9"})
        assert bad.outcome == pb.OUTCOME_SERVER_REFUSED
        assert "'maxmemory'" in bad.detail
        assert "argument must be a memory value" in bad.detail
        assert bad.report.settings_digest == digest_of(SETTINGS)
        assert ground.says("hz", "timeout") == {"hz": "20", "timeout": "0"}

        good = await agent.configure({"maxmemory": "1mb"})
        assert good.outcome == pb.OUTCOME_OBEYED
        assert ground.says("hz", "maxmemory") == {"hz": "10", "maxmemory": str(1 << 20)}

    run(version, tmp_path, talk)


def test_a_new_agent_knows_what_was_set_before_it_and_a_new_server_what_its_file_says(
    version: str, tmp_path: Path
) -> None:
    async def talk(ground: Ground) -> None:
        first = ground.agent()
        await first.start()
        wanted = {"timeout": "9"}
        await first.configure(wanted)
        first.node.leave_volume()
        second = ground.agent()
        assert await second.digest() == settings_digest(wanted)
        await second.configure({})
        assert ground.says("timeout") == {"timeout": "0"}

        ground.kill_server()
        report = await second.start()
        assert report.settings_digest == digest_of(SETTINGS)

    run(version, tmp_path, talk)


def test_what_was_noted_by_an_agent_that_died_amid_an_order_is_set_back_by_the_next(
    version: str, tmp_path: Path
) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent()
        await agent.start()
        process = agent.node.report.facts.process.process
        assert process is not None
        # As far as an order gets: the note, the command, and not the second note.
        agent.node.keep_configured(under_way(agent.node.configured_of(process), {"timeout": "9"}))
        with ground.pod.agent_client() as client:
            client.config_set("timeout", "9")
        after = ground.agent()
        assert await after.digest() == NOT_KNOWN
        assert (await after.configure({"hz": "20"})).outcome == pb.OUTCOME_OBEYED
        assert ground.says("timeout") == {"timeout": "0"}

    run(version, tmp_path, talk)


def test_no_setting_lifts_a_fence(version: str, tmp_path: Path) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent("min-replicas-to-write 0\n")
        assert (await agent.start(pb.START_KIND_FENCED_PRIMARY)).fenced
        done = await agent.configure({"hz": "11"})
        assert done.outcome == pb.OUTCOME_OBEYED
        assert done.report.fenced
        assert ground.says("hz", "min-replicas-to-write") == {"hz": "11", "min-replicas-to-write": str(FENCED)}

    run(version, tmp_path, talk)


def test_the_replicas_that_a_write_needs_are_those_of_the_settings_from_the_first_moment(
    version: str, tmp_path: Path
) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent("min-replicas-to-write 1\n")
        await agent.start()
        with ground.pod.agent_client() as client, pytest.raises(valkey.ResponseError, match="NOREPLICAS"):
            client.set("key", "value")

    run(version, tmp_path, talk)


@pytest.mark.every_version
def test_an_append_only_file_that_is_switched_on_while_no_server_runs_loses_nothing(
    version: str, tmp_path: Path
) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent("save 900 1\nappendonly no\n")
        await agent.start()
        with ground.pod.agent_client() as client:
            client.mset({f"key:{number}": number for number in range(100)})
            client.save()
        ground.kill_server()

        wanted = "save 900 1\nappendonly yes\n"
        agent.file.write_text(wanted)
        report = await agent.start()
        assert report.settings_digest != digest_of(wanted), "it is not as it shall be, and the operator will say so"
        with ground.pod.agent_client() as client:
            assert client.dbsize() == 100

        done = await agent.configure(live_settings(by_name(parse_conf(wanted))))
        assert done.outcome == pb.OUTCOME_OBEYED
        assert done.report.settings_digest == digest_of(wanted)
        await agent.wait_for("the file is there", lambda report: report.persisted.aof)
        ground.kill_server()
        await agent.start()
        with ground.pod.agent_client() as client:
            assert client.config_get("appendonly") == {"appendonly": "yes"}
            assert client.dbsize() == 100

    run(version, tmp_path, talk)


def test_where_the_append_only_file_is_switched_off_a_snapshot_takes_its_place(version: str, tmp_path: Path) -> None:
    async def talk(ground: Ground) -> None:
        agent = ground.agent("save 900 1\nappendonly yes\n")
        await agent.start()
        with ground.pod.agent_client() as client:
            client.mset({f"key:{number}": number for number in range(100)})
        assert not (await agent.service.report(pb.ReportRequest())).persisted.rdb
        agent.file.write_text("save 900 1\nappendonly no\n")
        await agent.configure({"save": "900 1", "appendonly": "no"})
        await agent.wait_for("the snapshot is there", lambda report: report.persisted.rdb)
        ground.kill_server()
        await agent.start()
        with ground.pod.agent_client() as client:
            assert client.dbsize() == 100

    run(version, tmp_path, talk)
