"""The agent as it runs in a container: a process, its ports, its folder, its reports. The operator is a stand-in."""

import asyncio
import signal
import ssl
import stat
from pathlib import Path

import pytest

from tests.support.agent_program import DEADLINE_S, Ground
from tests.support.agents import NODE, OPERATOR, POD_UID
from valkey_operator.wire.agent_client import AgentClient
from valkey_operator.wire.tls import make_context


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_it_makes_the_gate_answers_probes_and_orders_and_stops_at_a_signal(
    ground: Ground, number: signal.Signals
) -> None:
    async def run() -> None:
        async with ground.running() as agent:
            await ground.wait_until_it_serves()
            assert stat.S_ISFIFO((ground.gate / "go.conf").stat().st_mode)
            assert await asyncio.to_thread(ground.ask, "/livez") == (200, "ok\n")
            assert await asyncio.to_thread(ground.ask, "/readyz") == (503, "the server is shut\n")
            async with AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client:
                assert (await client.report(timeout_s=5)).pod_uid == POD_UID
            agent.send_signal(number)
            assert await asyncio.wait_for(agent.wait(), 5) == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node": ""}, "valkey-operator: --node is not set; give it, or set VALKEY_AGENT_NODE.\n"),
        ({"tls": "/nowhere"}, "the TLS files in /nowhere cannot be used: No such file or directory.\n"),
        ({"gate": "/nowhere"}, "valkey-operator: --gate is /nowhere, which cannot be used: No such file"),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_code_two(ground: Ground, changes: dict[str, str], sentence: str) -> None:
    async def run() -> None:
        agent = await ground.start(**changes)
        assert await asyncio.wait_for(agent.wait(), DEADLINE_S) == 2

    asyncio.run(run())
    assert sentence in ground.log.read_text()
    assert ground.log.read_text().count("\n") == 1


def test_an_agent_that_cannot_take_orders_says_so_and_ends_with_code_two(ground: Ground) -> None:
    async def run() -> None:
        agent = await ground.start(grpc_address="192.0.2.1:9443")  # an address that no machine has
        assert await asyncio.wait_for(agent.wait(), DEADLINE_S) == 2

    asyncio.run(run())
    assert "valkey-operator: the agent cannot start: 192.0.2.1:9443 cannot be opened" in ground.log.read_text()


def test_a_report_goes_to_the_leader_a_standby_names(ground: Ground) -> None:
    async def run() -> None:
        leader, standby = ground.operator("leader"), ground.operator("standby")
        standby.leader = leader.address
        async with leader.serving(), standby.serving(), ground.running(standby):
            await ground.wait_for("report at the leader", lambda: bool(leader.got))
        assert leader.got[0].pod_uid == POD_UID
        assert leader.callers == {NODE.uri}

    asyncio.run(run())


def test_a_report_is_sent_again_until_it_is_acknowledged(ground: Ground) -> None:
    async def run() -> None:
        operator = ground.operator()
        async with ground.running(operator):
            await ground.wait_until_it_serves()
            operator.leader = ""  # a standby that knows no leader
            async with operator.serving():
                await ground.wait_for("reports", lambda: len(operator.got) > 2)
                operator.leader = None
                await ground.wait_for("ack", lambda: len(operator.got) > 3)
                seen = len(operator.got)
                await asyncio.sleep(0.5)
                assert len(operator.got) <= seen + 1
        assert len({report.seq for report in operator.got}) == 1

    asyncio.run(run())


def test_nothing_is_told_to_one_who_is_not_the_operator(ground: Ground) -> None:
    async def run() -> None:
        impostor = ground.operator("impostor", NODE)
        async with impostor.serving(), ground.running(impostor, log_level="debug"):
            await ground.wait_for("refusal", lambda: "the peer is" in ground.log.read_text())
        assert impostor.got == []

    asyncio.run(run())


def test_a_file_in_the_gate_says_that_the_pod_leaves_and_goes_when_there_is_no_primary(ground: Ground) -> None:
    async def run() -> None:
        operator = ground.operator()
        async with operator.serving(), ground.running(operator):
            await ground.wait_for("report", lambda: bool(operator.got))
            (ground.gate / "leaving").touch()
            await ground.wait_for("report of leaving", lambda: operator.got[-1].leaving)
            await ground.wait_for("end of the hook", lambda: not (ground.gate / "leaving").exists())

    asyncio.run(run())


def test_many_who_connect_at_once_do_not_bring_it_down(ground: Ground) -> None:
    async def shake_hands(context: ssl.SSLContext) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", ground.grpc_port, ssl=context)
        writer.transport.abort()

    async def run() -> None:
        async with ground.running() as agent:
            await ground.wait_until_it_takes_orders()
            context = make_context(ground.files("op", OPERATOR), ssl.Purpose.SERVER_AUTH)
            context.set_alpn_protocols(["h2"])
            for _ in range(40):
                await asyncio.gather(*(shake_hands(context) for _ in range(16)), return_exceptions=True)
            assert agent.returncode is None, ground.log.read_text()
            assert await asyncio.to_thread(ground.ask, "/livez") == (200, "ok\n")

    asyncio.run(run())
