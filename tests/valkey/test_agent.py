"""The agent's process beside a real server: from the gate to its death and back, as the operator hears of it."""

import asyncio
import signal
import time
from pathlib import Path

import pytest
import valkey

from tests.support.agent_program import Ground, Operator
from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.valkey.gated import pod
from tests.valkey.servers import running
from valkey_operator.agent.volume import LOCK_FILE
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.agent_client import AgentClient

ORDER = pb.Order(term=1, epoch=1, pod_uid=POD_UID)
OPEN = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_WRITABLE_PRIMARY)
LONE_TERMS = pb.Terms(sets=[pb.MemberSet(nodes=["cart-1"])], fence_after_ms=3000, missed_after_ms=4000)
# Measured below 60 ms (bench/agent.py); a test on a busy machine only shows the order of magnitude.
HEARD_WITHIN_S = 1.5


async def wait_for_state(ground: Ground, operator: Operator, state: pb.ProcessState) -> None:
    await ground.wait_for(
        f"report of {pb.ProcessState.Name(state)}", lambda: bool(operator.got) and operator.got[-1].process == state
    )


@pytest.mark.every_version
def test_an_agent_lets_a_server_in_hears_its_death_and_survives_its_own(version: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    (tmp_path / "password").write_text("secret")
    settings = {"password_file": str(tmp_path / "password")}

    async def run() -> None:
        operator = ground.operator()
        with pod(version, tmp_path) as made:
            settings["port"] = str(made.port)
            async with (
                operator.serving(),
                AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
            ):
                async with ground.running(operator, **settings):
                    server = made.start_server()
                    await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)
                    assert (await client.order("Open", OPEN, timeout_s=5)).outcome == pb.OUTCOME_OBEYED
                    await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                    with made.client("default", "secret") as user:
                        assert user.set("key", "value")
                # The agent was killed, and another one takes over a server that runs.
                async with ground.running(operator, **settings):
                    await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                    killed_at = time.monotonic()
                    server.send_signal(signal.SIGKILL)
                    await wait_for_state(ground, operator, pb.PROCESS_STATE_GONE)
                    assert time.monotonic() - killed_at < HEARD_WITHIN_S
                    assert ground.ask("/livez") == (503, "the server is gone\n")
                    server.wait(timeout=10)
                    made.start_server()
                    await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)

    asyncio.run(run())


def test_an_agent_that_is_frozen_and_ended_leaves_no_server_behind_that_writes_without_leave(
    version: str, tmp_path: Path
) -> None:
    ground = Ground(tmp_path)

    async def run() -> None:
        operator = ground.operator()
        with pod(version, tmp_path) as made:
            async with (
                operator.serving(),
                ground.running(operator, port=str(made.port)) as agent,
                AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
            ):
                made.start_server()
                await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)
                said = await client.report(timeout_s=5)
                needs_leave = pb.OpenRequest(order=ORDER, kind=OPEN.kind, terms=LONE_TERMS)
                needs_leave.order.leave.CopyFrom(pb.Leave(boot_id=said.boot_id, clock_ms=said.clock_ms))
                assert (await client.order("Open", needs_leave, timeout_s=5)).outcome == pb.OUTCOME_OBEYED
                await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                with made.agent_client() as user:
                    assert user.set("key", "value")
                    agent.send_signal(signal.SIGSTOP)
                    await asyncio.sleep(LONE_TERMS.fence_after_ms / 1000)
                    agent.send_signal(signal.SIGTERM)
                    agent.send_signal(signal.SIGCONT)
                    assert await agent.wait() == 0
                    with pytest.raises(valkey.ResponseError, match="NOREPLICAS"):
                        user.set("key", "too late")

    asyncio.run(run())


def test_a_primary_that_leaves_keeps_the_hook_waiting_until_it_follows_another(version: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path)

    async def run() -> None:
        operator = ground.operator()
        with pod(version, tmp_path) as made:
            async with (
                operator.serving(),
                ground.running(operator, port=str(made.port)),
                AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
            ):
                made.start_server()
                await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)
                await client.order("Open", OPEN, timeout_s=5)
                await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                with running(version, replicaof=f"127.0.0.1 {made.port}") as replica, replica.client() as heir:
                    await ground.wait_for("replica", lambda: bool(operator.got[-1].replication.replicas))
                    leaving = ground.gate / "leaving"
                    leaving.touch()
                    await ground.wait_for("report of leaving", lambda: operator.got[-1].leaving)
                    await client.order("Park", pb.ParkRequest(order=ORDER), timeout_s=5)
                    await asyncio.sleep(0.7)
                    assert leaving.exists(), "its replica may still be fetching the last of it"
                    heir.execute_command("REPLICAOF", "NO", "ONE")
                    primary = pb.Address(host="127.0.0.1", port=replica.port)
                    await client.order("Follow", pb.FollowRequest(order=ORDER, primary=primary), timeout_s=5)
                    await ground.wait_for("end of the hook", lambda: not leaving.exists())

    asyncio.run(run())


def test_a_primary_that_leaves_alone_keeps_nobody_waiting(version: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path)

    async def run() -> None:
        operator = ground.operator()
        with pod(version, tmp_path) as made:
            async with operator.serving(), ground.running(operator, port=str(made.port)):
                made.start_server()
                await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)
                files = ground.files("op", OPERATOR)
                async with AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, files) as client:
                    await client.order("Open", OPEN, timeout_s=5)
                await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                leaving = ground.gate / "leaving"
                leaving.touch()
                await ground.wait_for("end of the hook", lambda: not leaving.exists())
                await ground.wait_for("report of leaving", lambda: operator.got[-1].leaving)

    asyncio.run(run())


def test_an_agent_that_is_ended_together_with_its_server_leaves_the_folder_free(version: str, tmp_path: Path) -> None:
    """As where a pod is deleted by force: the hook takes all its time, and everything ends at one moment."""
    ground = Ground(tmp_path)

    async def run() -> None:
        operator = ground.operator()
        with pod(version, tmp_path) as made:
            async with (
                operator.serving(),
                ground.running(operator, port=str(made.port)) as agent,
                AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
            ):
                server = made.start_server()
                await wait_for_state(ground, operator, pb.PROCESS_STATE_WAITING)
                await client.order("Open", OPEN, timeout_s=5)
                await ground.wait_for("readiness", lambda: ground.ask("/readyz")[0] == 200)
                (ground.gate / "leaving").touch()
                await ground.wait_for("report of leaving", lambda: operator.got[-1].leaving)
                agent.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.3)
                server.send_signal(signal.SIGTERM)
                assert await agent.wait() == 0
        assert (tmp_path / "data" / LOCK_FILE).read_text() == ""

    asyncio.run(run())
