"""Leave to write, with real servers, and peers that speak mutual TLS over loopback."""

import asyncio
import contextlib
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import valkey

from tests.support.agents import POD_UID, lonely_node
from tests.support.certificates import Authority, write_tls
from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import ORDER, Agent
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.granting import Granting
from valkey_operator.agent.heartbeats import Heartbeats
from valkey_operator.agent.peers import PeerServer
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.report import Report
from valkey_operator.agent.rpc import AgentService
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.states import Health
from valkey_operator.wire.identity import Identity, node_identity
from valkey_operator.wire.tls import Reloading, TlsFiles
from valkey_operator.wire.tls_server import TlsServer, bind_listener

FENCE_AFTER_S = 0.6
LONG_S = 3 * FENCE_AFTER_S
MISSED_AFTER_S = 1.0
DEADLINE_S = 20.0


class Shard:
    """The authority of the test's nodes, and where each of them listens."""

    def __init__(self, folder: Path, *, made_at: datetime | None = None) -> None:
        self._folder = folder
        self._authority = Authority()
        self._made_at = made_at
        self.addresses: list[tuple[str, int]] = []

    def files(self, identity: Identity) -> TlsFiles:
        leaf = self._authority.leaf(identity, now=self._made_at)
        return write_tls(self._folder / f"tls-{identity.node}", leaf, self._authority.root.certificate)

    @contextlib.asynccontextmanager
    async def replica(self, name: str, *, namespace: str = "shop", cluster: str = "") -> AsyncIterator[Granting]:
        """The agent of a replica, or of another node of a cluster, as far as who asks knows it."""
        own = node_identity(namespace, name)
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        node = lonely_node(folder)
        if node.report.facts.promise.epoch == 0:
            node.keep_promise(Promise(term=1, epoch=1))
        granting = Granting(node)
        tls = Reloading(self.files(own), ssl.Purpose.CLIENT_AUTH, expired_too=True)
        with bind_listener("127.0.0.1", 0) as listener:
            self.addresses.append(listener.getsockname())
            serving = asyncio.create_task(
                TlsServer(listener, tls, PeerServer(own, granting.answer, cluster=cluster).serve).run()
            )
            try:
                yield granting
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
                self.addresses.remove(listener.getsockname())


class Guarded(Agent):
    """The agent of cart-0, which needs leave to write."""

    def __init__(self, made: Pod, shard: Shard) -> None:
        super().__init__(made)
        self.keeper = LicenceKeeper(self.node, record=None)
        self.service = AgentService(self.node, self.keeper)
        own = node_identity("shop", "cart-0")

        async def find() -> list[tuple[str, int]]:
            return list(shard.addresses)

        tls = Reloading(shard.files(own), ssl.Purpose.SERVER_AUTH, expired_too=True)
        self._heartbeats = Heartbeats(own, tls, self.keeper, find=find)

    def works(self) -> list[Coroutine[None, None, None]]:
        return [*super().works(), self._heartbeats.run(), self.keeper.keep(), self.keeper.seek()]

    async def open_with(self, *sets: list[str], least_replicas: int = 0, leave: pb.Leave | None = None) -> pb.Result:
        await self.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
        request = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_WRITABLE_PRIMARY, terms=terms(*sets))
        request.order.leave.CopyFrom(leave or pb.Leave())
        request.terms.least_replicas = least_replicas
        result = await self.service.obey("Open", request)
        if result.outcome == pb.OUTCOME_OBEYED:
            await self.wait_for_health()
        return result


def terms(*sets: list[str]) -> pb.Terms:
    return pb.Terms(
        sets=[pb.MemberSet(nodes=nodes) for nodes in sets],
        fence_after_ms=int(FENCE_AFTER_S * 1000),
        missed_after_ms=int(MISSED_AFTER_S * 1000),
    )


async def until(what: str, holds: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {DEADLINE_S} s: {what}") from None


def accepts(made: Pod) -> bool:
    with made.agent_client() as client:
        try:
            return bool(client.set("key", "value"))
        except (valkey.ResponseError, valkey.ConnectionError):
            return False


async def goes_on(made: Pod) -> None:
    end = asyncio.get_running_loop().time() + LONG_S
    while asyncio.get_running_loop().time() < end:
        assert await asyncio.to_thread(accepts, made), made.log()
        await asyncio.sleep(0.05)


def play(version: str, folder: Path, run: Callable[[Pod], Coroutine[None, None, None]]) -> None:
    """One story about the server of cart-0, from its gate on."""
    with pod(version, folder / "cart-0") as made:
        asyncio.run(run(made))


@pytest.mark.every_version
def test_a_primary_writes_while_its_replica_grants_it_and_again_when_that_is_back(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working():
            made.start_server()
            async with shard.replica("cart-1"):
                assert (await agent.open_with(["cart-1"])).outcome == pb.OUTCOME_OBEYED
                await goes_on(made)
            await until("writes are refused", lambda: not accepts(made))
            async with shard.replica("cart-1"):
                await until("writes are accepted", lambda: accepts(made))

    play(version, tmp_path, run)


def test_leave_comes_with_an_order_and_counts_from_the_report_that_it_answers(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Guarded(made, Shard(tmp_path))
        async with agent.working():
            made.start_server()
            said = await agent.service.report(pb.ReportRequest())
            of_another = pb.Leave(boot_id="former", clock_ms=said.clock_ms)
            assert (await agent.open_with(["cart-1"], leave=of_another)).outcome == pb.OUTCOME_NO_LICENCE
            await asyncio.sleep(FENCE_AFTER_S)
            late = pb.Leave(boot_id=said.boot_id, clock_ms=said.clock_ms)
            assert (await agent.open_with(["cart-1"], leave=late)).outcome == pb.OUTCOME_NO_LICENCE
            said = await agent.service.report(pb.ReportRequest())
            in_time = pb.Leave(boot_id=said.boot_id, clock_ms=said.clock_ms)
            assert (await agent.open_with(["cart-1"], leave=in_time)).outcome == pb.OUTCOME_OBEYED
            await until("writes are refused", lambda: not accepts(made))

    play(version, tmp_path, run)


def test_half_of_the_replicas_suffice_and_fewer_do_not(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        sets = ["cart-1", "cart-2", "cart-3"]
        async with agent.working(), shard.replica("cart-1"):
            made.start_server()
            async with shard.replica("cart-2"):
                assert (await agent.open_with(sets)).outcome == pb.OUTCOME_OBEYED
                await goes_on(made)
            await until("writes are refused", lambda: not accepts(made))
            await agent.obey("Bind", pb.BindRequest(order=ORDER, terms=terms(sets[:2])))
            await until("writes are accepted", lambda: accepts(made))

    play(version, tmp_path, run)


def test_a_primary_is_bound_by_more_replicas_only_once_half_of_them_grant_it(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        before, after = ["cart-1"], ["cart-1", "cart-2", "cart-3"]
        both = pb.BindRequest(order=ORDER, terms=terms(before, after))
        async with agent.working(), shard.replica("cart-1"):
            made.start_server()
            await agent.open_with(before)
            assert (await agent.service.obey("Bind", both)).outcome == pb.OUTCOME_NO_LICENCE
            await goes_on(made)
            async with shard.replica("cart-2"):
                result = await agent.obey("Bind", both)
                assert [list(each.nodes) for each in result.report.terms.sets] == [before, after]
                await goes_on(made)
            await until("half of both is needed", lambda: not accepts(made))

    play(version, tmp_path, run)


def test_a_replica_that_promised_a_newer_epoch_grants_no_more_and_misses_no_primary_before_that(
    version: str, tmp_path: Path
) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working(), shard.replica("cart-1") as granting:
            made.start_server()
            await agent.open_with(["cart-1"])
            watching = asyncio.create_task(granting.watch())
            await goes_on(made)
            node = granting.node
            assert not node.report.facts.misses_primary
            node.keep_promise(Promise(term=1, epoch=2))
            await until("writes are refused", lambda: not accepts(made))
            await until("the primary is missed", lambda: node.report.facts.misses_primary)
            watching.cancel()

    play(version, tmp_path, run)


def test_a_primary_at_a_long_script_is_not_missed_and_one_that_stands_still_is(version: str, tmp_path: Path) -> None:
    """Nobody hears of the script for its first five seconds: it does not answer, and does not say BUSY."""

    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working(), shard.replica("cart-1"):
            server = made.start_server()
            await agent.open_with(["cart-1"])
            watching = asyncio.create_task(Granting(agent.node).watch())
            script = asyncio.create_task(asyncio.to_thread(compute, made, 4 * MISSED_AFTER_S))
            assert not await agent.node.wait_for(is_hung_and_missed, within_s=4 * MISSED_AFTER_S), agent.node.report
            await script
            server.send_signal(signal.SIGSTOP)
            assert await agent.node.wait_for(is_hung_and_missed, within_s=DEADLINE_S), agent.node.report
            watching.cancel()

    play(version, tmp_path, run)


def compute(made: Pod, seconds: float) -> None:
    """Keep the server from everything else for so long."""
    script = """
        local function now() local time = redis.call('TIME') return time[1] + time[2] / 1000000 end
        local ends = now() + ARGV[1]
        while now() < ends do end
    """
    with made.agent_client() as client:
        client.eval(script, 0, str(seconds))


def is_hung_and_missed(report: Report) -> bool:
    facts = report.facts
    return facts.server is not None and facts.server.health is Health.HUNG and facts.misses_primary


def test_a_server_that_does_not_confirm_its_fence_is_killed(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working():
            server = made.start_server()
            async with shard.replica("cart-1"):
                await agent.open_with(["cart-1"])
                server.send_signal(signal.SIGSTOP)
                await asyncio.sleep(LONG_S)
                assert server.poll() is None, "hung, but with leave to write"
            await until("it is killed", lambda: server.poll() is not None)

    play(version, tmp_path, run)


def test_a_primary_that_was_told_to_park_in_a_newer_epoch_and_hangs_is_killed(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working():
            server = made.start_server()
            async with shard.replica("cart-1"):
                await agent.open_with(["cart-1"])
                server.send_signal(signal.SIGSTOP)
                order = pb.Order(term=ORDER.term, epoch=ORDER.epoch + 1, pod_uid=ORDER.pod_uid)
                assert (await agent.service.obey("Park", pb.ParkRequest(order=order))).outcome == pb.OUTCOME_NO_ANSWER
                await until("it is killed", lambda: server.poll() is not None)

    play(version, tmp_path, run)


def test_expired_certificates_cost_no_leave(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path, made_at=datetime.now(UTC) - timedelta(days=3650))
        agent = Guarded(made, shard)
        async with agent.working(), shard.replica("cart-1"):
            made.start_server()
            assert (await agent.open_with(["cart-1"])).outcome == pb.OUTCOME_OBEYED
            await goes_on(made)

    play(version, tmp_path, run)


def test_a_node_of_the_same_name_in_another_namespace_grants_nothing(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working(), shard.replica("cart-1", namespace="attic"):
            made.start_server()
            assert (await agent.open_with(["cart-1"])).outcome == pb.OUTCOME_NO_LICENCE

    play(version, tmp_path, run)


def test_an_order_to_promote_is_no_licence(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working():
            made.start_server()
            report = await agent.open(pb.START_KIND_PARKED)
            promotion = pb.PromoteRequest(
                order=pb.Order(term=1, epoch=2, pod_uid=POD_UID),
                replication_id=report.replication.replication_id,
                terms=terms(["cart-1"]),
            )
            result = await agent.service.obey("Promote", promotion)
            assert (result.outcome, result.report.replication.role) == (pb.OUTCOME_NO_LICENCE, pb.ROLE_REPLICA)
            async with shard.replica("cart-1"):
                result = await agent.obey("Promote", promotion)
                assert result.report.replication.role == pb.ROLE_PRIMARY
                await until("writes are accepted", lambda: accepts(made))

    play(version, tmp_path, run)


def test_with_quorum_the_server_itself_refuses_writes_that_half_of_the_replicas_do_not_get(
    version: str, tmp_path: Path
) -> None:
    async def run(made: Pod) -> None:
        shard = Shard(tmp_path)
        agent = Guarded(made, shard)
        async with agent.working(), shard.replica("cart-1"):
            made.start_server()
            await agent.open_with(["cart-1"], least_replicas=1)
            await until("no replica follows", lambda: not accepts(made))
            with made.agent_client() as client:
                assert client.config_get("min-replicas-to-write") == {"min-replicas-to-write": "1"}

    play(version, tmp_path, run)
