"""Orders from the operator's end to a real agent program, and to nobody."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_program import Ground
from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.certificates import write_tls
from tests.support.ports import free_port
from tests.support.shards import record
from valkey_operator.controllers.agents.channels import Channels, Target
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import Agents, AgentUnreachableError
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.kube.objects import Key, ObjectMeta
from valkey_operator.kube.store import Store
from valkey_operator.runtime.outcome import NotLeaderError, Verdict, judge
from valkey_operator.valkey.boot import Address, StartKind
from valkey_operator.valkey.states import ProcessState

KEY = Key("shop", "cart-0")


class Office:
    """The operator's end, and one agent program."""

    def __init__(self, folder: Path) -> None:
        self.ground = Ground(folder)
        self.files = self.ground.files("operator", OPERATOR)
        self.reports = Reports(lambda: 0.0)
        self.channels = Channels(self.files, most=2)
        self.term: int | None = 3
        self.now = 0.0
        self.grants = Grants(lambda: self.now)
        self.agents = Agents(self.reports, self.channels, self.grants, check_term=self.check)
        self.target = Target(KEY, POD_UID, "127.0.0.1", self.ground.grpc_port)

    def check(self, term: int) -> None:
        if term != self.term:
            raise NotLeaderError(f"term {term} is over")

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Office"]:
        async with self.ground.running():
            await self.ground.wait_until_it_takes_orders()
            try:
                yield self
            finally:
                await self.channels.close()


def run(folder: Path, talk: Callable[[Office], Awaitable[None]]) -> None:
    async def open_and_talk() -> None:
        async with Office(folder).open() as office:
            await talk(office)

    asyncio.run(open_and_talk())


def test_a_report_is_asked_for_and_kept(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        view = await office.agents.report(office.target)
        assert (view.pod_uid, view.process) == (POD_UID, ProcessState.SHUT)
        received = office.reports.get(KEY, POD_UID)
        assert received is not None
        assert received.view == view

    run(tmp_path, talk)


def test_an_order_comes_back_with_outcome_sentence_and_state(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        agents = office.agents.in_term(3)
        primary = Address("10.0.0.1", 6379)
        opened = await agents.order(office.target, "Open", epoch=5, kind=StartKind.REPLICA, primary=primary)
        assert opened.outcome is Outcome.NOBODY_WAITS
        assert not opened.obeyed
        assert "waits" in opened.detail
        assert (opened.view.promised_term, opened.view.promised_epoch) == (3, 5)
        received = office.reports.get(KEY)
        assert received is not None
        assert received.view.promised_epoch == 5
        malformed = await agents.order(office.target, "Follow", epoch=5, primary=Address("no", 1))
        assert malformed.outcome is Outcome.BAD_ORDER

    run(tmp_path, talk)


def test_leave_goes_with_an_order_that_makes_a_primary_of_the_node_on_record_in_its_epoch(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        office.grants.read_from(records := Store[ShardObject]())
        records.replace_all([record_of_cart(primary="cart-0", epoch=5)], "1")
        agents = office.agents.in_term(3)
        promote = partial(agents.order, office.target, "Promote", replication_id="a" * 40, at_least_offset=0)
        await agents.report(office.target)
        before = office.grants.last_given(Key("shop", "cart"))
        await promote(epoch=4)
        await agents.order(office.target, "Park", epoch=5)
        assert office.grants.last_given(Key("shop", "cart")) == before
        office.now = 7.0
        await promote(epoch=5)
        assert office.grants.last_given(Key("shop", "cart")) == 7.0

    run(tmp_path, talk)


def record_of_cart(**spec: Any) -> ShardObject:
    meta = ObjectMeta(namespace="shop", name="cart", uid="uid", resource_version="1")
    return ShardObject(metadata=meta, spec=record(**spec))


def test_an_old_term_is_refused_here_and_by_the_agent(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        before, after = office.agents.in_term(3), office.agents.in_term(4)
        office.term = 4
        with pytest.raises(NotLeaderError):
            await before.order(office.target, "Park", epoch=1)
        assert office.reports.get(KEY) is None, "the agent heard of it"
        assert (await after.order(office.target, "Park", epoch=1)).outcome is Outcome.NOT_RUNNING
        office.term = 3  # a process that does not know yet
        assert (await before.order(office.target, "Park", epoch=1)).outcome is Outcome.OLD_TERM

    run(tmp_path, talk)


def test_another_pod_of_the_node_is_not_taken_for_the_one_that_is_meant(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        other = Target(KEY, "former", "127.0.0.1", office.ground.grpc_port)
        with pytest.raises(AgentUnreachableError, match=f"is that of pod '{POD_UID}', and 'former' is meant"):
            await office.agents.report(other)
        assert office.reports.get(KEY, "former") is None
        assert (await office.agents.in_term(3).order(other, "Park", epoch=1)).outcome is Outcome.OTHER_POD

    run(tmp_path, talk)


def test_an_agent_that_is_not_there_is_one_sentence_for_a_later_attempt(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        port = free_port()
        nobody = Target(Key("shop", "cart-1"), "uid-2", "127.0.0.1", port)
        with pytest.raises(AgentUnreachableError) as caught:
            await office.agents.in_term(3).order(nobody, "Park", epoch=1)
        told = str(caught.value)
        assert told.startswith(f"The agent of shop/cart-1 at 127.0.0.1:{port} does not answer (UNAVAILABLE: ")
        assert told.endswith(").")
        assert "\n" not in told
        assert judge(caught.value).verdict is Verdict.RETRY_LATER

    run(tmp_path, talk)


def test_an_agent_that_does_not_answer_costs_no_longer_than_the_deadline(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            target = Target(Key("shop", "cart-1"), "uid-2", "127.0.0.1", silent.getsockname()[1])
            began = asyncio.get_running_loop().time()
            with pytest.raises(AgentUnreachableError, match="DEADLINE_EXCEEDED"):
                await office.agents.report(target, timeout_s=0.3)
            assert asyncio.get_running_loop().time() - began < 2

    run(tmp_path, talk)


def test_of_many_those_that_answer_are_heard(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        nobody = [Target(Key("shop", f"gone-{n}"), f"gone-{n}", "127.0.0.1", free_port()) for n in range(3)]
        pulled = await office.agents.pull([*nobody, office.target])
        assert {key.name for key, found in pulled.items() if isinstance(found, AgentUnreachableError)} == {
            "gone-0",
            "gone-1",
            "gone-2",
        }
        assert pulled[KEY] == office.reports.get(KEY).view  # type: ignore[union-attr]

    run(tmp_path, talk)


def test_an_agent_that_comes_back_is_reached_at_once(tmp_path: Path) -> None:
    async def run_twice() -> None:
        office = Office(tmp_path)
        async with office.open():
            await office.agents.report(office.target)
        for _ in range(5):
            with pytest.raises(AgentUnreachableError):
                await office.agents.report(office.target)
        async with office.open():
            await office.agents.report(office.target)

    asyncio.run(run_twice())


def test_renewed_certificates_are_used_for_the_next_call(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        await office.agents.report(office.target)
        await office.agents.report(office.target)
        stranger = write_tls(tmp_path / "x", office.ground.authority.leaf(NODE), b"")
        office.files.key.write_bytes(stranger.key.read_bytes())
        office.files.certificate.write_bytes(stranger.certificate.read_bytes())
        with pytest.raises(AgentUnreachableError, match="PERMISSION_DENIED"):
            await office.agents.report(office.target)

    run(tmp_path, talk)


def test_files_that_are_missing_are_one_sentence(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        office.files.key.unlink()
        with pytest.raises(AgentUnreachableError, match=r"does not answer \(.*tls\.key cannot be read"):
            await office.agents.report(office.target)

    run(tmp_path, talk)


def test_few_channels_are_kept_and_none_is_closed_under_a_call(tmp_path: Path) -> None:
    async def talk(office: Office) -> None:
        everybody = [Target(KEY, f"uid-{n}", "127.0.0.1", office.ground.grpc_port) for n in range(3)]
        asked = [asyncio.create_task(office.agents.in_term(3).order(each, "Park", epoch=1)) for each in everybody]
        results = await asyncio.gather(*asked)
        assert {result.outcome for result in results} == {Outcome.OTHER_POD, Outcome.NOT_RUNNING}
        assert len(office.channels) == 2
        await office.agents.hang_up("uid-2")
        assert len(office.channels) == 1

    run(tmp_path, talk)
