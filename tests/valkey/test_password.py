"""A password that changes while servers run: both are accepted for a while, and no link and no client is lost."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest
import valkey

from tests.valkey.gated import Pod, pod, wait_until
from tests.valkey.gated_agent import ORDER, Agent
from valkey_operator.agent.password import Pace, PasswordFollower
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

AT_ONCE = Pace(use_after_s=0, only_after_s=0)
LATER = Pace(use_after_s=3600, only_after_s=3600)


class Following(Agent):
    """An agent that follows a password file."""

    def __init__(self, made: Pod, pace: Pace, first: str = "old") -> None:
        self.file = made.folder / "password"
        self.file.write_text(first)
        super().__init__(made, self.file)
        self._pace = pace

    def works(self) -> list[Coroutine[None, None, None]]:
        return [*super().works(), PasswordFollower(self.node, self._pace).run()]


def accepts(made: Pod, password: str) -> bool:
    try:
        return bool(made.client("default", password).ping())
    except valkey.AuthenticationError:
        return False


async def until(what: str, made: Pod, passwords: dict[str, bool]) -> None:
    def so() -> bool:
        return {each: accepts(made, each) for each in passwords} == passwords

    await asyncio.to_thread(wait_until, what, so, made.log)


@pytest.mark.every_version
def test_a_new_password_is_accepted_beside_the_former_one(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Following(made, LATER)
        async with agent.working():
            made.start_server()
            await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            agent.file.write_text("new #\"' \n")
            await until("both are accepted", made, {"old": True, "new #\"' ": True, "other": False})
            assert made.agent_client().config_get("primaryauth") == {"primaryauth": "old"}

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


@pytest.mark.every_version
def test_in_the_end_only_the_new_password_counts_and_who_was_in_stays(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Following(made, AT_ONCE)
        async with agent.working():
            made.start_server()
            await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            with made.client("default", "old") as client:
                assert client.ping()
                agent.file.write_text("new")
                await until("the former one is dropped", made, {"old": False, "new": True})
                assert client.ping(), "a connection that is logged in is not cut"
            assert made.agent_client().config_get("primaryauth") == {"primaryauth": "new"}

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


def test_a_new_agent_ends_what_the_former_one_began(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        first = Following(made, LATER)
        async with first.working():
            made.start_server()
            await first.open(pb.START_KIND_WRITABLE_PRIMARY)
            first.file.write_text("new")
            await until("both are accepted", made, {"old": True, "new": True})
        second = Following(made, AT_ONCE, first="new")
        async with second.working():
            await until("the former one is dropped", made, {"old": False, "new": True})

    with pod(version, tmp_path) as made:
        asyncio.run(run(made))


def test_a_replica_follows_through_a_change_whoever_hears_of_it_first(version: str, tmp_path: Path) -> None:
    async def run(primary: Pod, replica: Pod) -> None:
        first, second = Following(primary, LATER), Following(replica, LATER)
        async with first.working(), second.working():
            primary.start_server()
            await first.open(pb.START_KIND_WRITABLE_PRIMARY)
            replica.start_server()
            await second.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
            address = pb.Address(host="127.0.0.1", port=primary.port)
            order = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_REPLICA, primary=address)
            await second.obey("Open", order)
            await second.wait_for("the link is up", lambda report: report.replication.link.up)
            second.file.write_text("new")
            await until("the replica has heard of it", replica, {"old": True, "new": True})
            # The link breaks before the primary has heard of it.
            primary.agent_client().client_kill_filter(_type="slave")
            await second.wait_for("the link is up again", lambda report: report.replication.link.up)

    with pod(version, tmp_path / "a") as primary, pod(version, tmp_path / "b") as replica:
        asyncio.run(run(primary, replica))
