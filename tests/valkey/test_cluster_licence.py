"""Leave to write, with real servers in cluster mode: what a fence forbids, and that it is lifted as a whole."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path

import msgspec
import pytest

from tests.valkey.cluster_agents import NODE_TIMEOUT_MS, ClusterAgent, form
from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import ORDER
from tests.valkey.test_licence import Shard, accepts, until
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.heartbeats import Heartbeats
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.rpc import AgentService
from valkey_operator.core.cluster.leave import FENCE_AFTER_MS, MISSED_AFTER_MS
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import Role
from valkey_operator.wire.identity import node_identity
from valkey_operator.wire.tls import Reloading

FENCE_AFTER_S = 1.0
FENCE = ("min-replicas-to-write", "cluster-replica-no-failover")


class BoundAgent(ClusterAgent):
    """The agent of a cluster node that needs the leave of an operator, who gives it while the test says so."""

    def __init__(self, made: Pod, shard: Shard | None = None) -> None:
        super().__init__(made)
        self._shard = shard
        self.node.report = msgspec.structs.replace(self.node.report, keeps_terms=True)
        self.keeper = LicenceKeeper(self.node, record=None)
        self.keeper.ask_operator = self._ask
        self.service = AgentService(self.node, self.keeper)
        self.is_given = True

    async def _ask(self, _epoch: int) -> float | None:
        return asyncio.get_running_loop().time() if self.is_given else None

    def works(self) -> list[Coroutine[None, None, None]]:
        works = [*super().works(), self.keeper.keep(), self.keeper.seek()]
        return [*works, self._heartbeats(self._shard).run()] if self._shard else works

    def _heartbeats(self, shard: Shard) -> Heartbeats:
        own = node_identity("shop", "cart-0-0")

        async def find() -> list[tuple[str, int]]:
            return list(shard.addresses)

        tls = Reloading(shard.files(own), ssl.Purpose.SERVER_AUTH, expired_too=True)
        return Heartbeats(own, tls, self.keeper, find=find)

    async def bind(self, *, epoch: int = 1, least_replicas: int = 0) -> pb.Result:
        order = pb.Order(term=ORDER.term, epoch=epoch, pod_uid=ORDER.pod_uid)
        return await self.service.obey("Bind", pb.BindRequest(order=order, terms=terms(least_replicas)))

    async def fence(self) -> list[str]:
        reply = await self.node.connection.call("CONFIG", "GET", *FENCE)
        found = dict(zip(reply[::2], reply[1::2], strict=True))
        return [found[name] for name in FENCE]

    async def wait_for_fence(self, *values: str) -> None:
        async with asyncio.timeout(20):
            while await self.fence() != [*values]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)


def terms(least_replicas: int = 0) -> pb.Terms:
    return pb.Terms(
        sets=[pb.MemberSet(nodes=["c-8-0", "c-9-0"])],
        fence_after_ms=int(FENCE_AFTER_S * 1000),
        missed_after_ms=int(FENCE_AFTER_S * 2000),
        least_replicas=least_replicas,
        elected=True,
    )


@contextlib.asynccontextmanager
async def working(*agents: BoundAgent) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for agent in agents:
            await stack.enter_async_context(agent.working())
        yield


def play(
    version: str,
    folder: Path,
    count: int,
    scene: Callable[[list[BoundAgent]], Awaitable[None]],
    *,
    primaries: int = 1,
) -> None:
    """One story about so many nodes that are a cluster."""
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(pod(version, folder / f"c-{number}")) for number in range(count)]

        async def run() -> None:
            agents = [BoundAgent(made) for made in pods]
            async with working(*agents):
                await asyncio.gather(*(agent.start() for agent in agents))
                await form(agents, primaries=primaries)
                await scene(agents)

        asyncio.run(run())


@pytest.mark.every_version
def test_without_leave_a_primary_takes_no_writes_and_a_replica_is_not_elected(version: str, tmp_path: Path) -> None:
    async def scene(agents: list[BoundAgent]) -> None:
        primary, replica = agents
        for agent in agents:
            assert (await agent.bind()).outcome == pb.OUTCOME_OBEYED
            assert await agent.fence() == ["0", "no"]
        await until("writes are accepted", lambda: accepts(primary.made))
        primary.is_given = replica.is_given = False
        for agent in agents:
            await agent.wait_for_fence(str(FENCED), "yes")
        assert not accepts(primary.made)
        primary.is_given = replica.is_given = True
        for agent in agents:
            await agent.wait_for_fence("0", "no")
        await until("writes are accepted", lambda: accepts(primary.made))

    play(version, tmp_path, 2, scene)


def test_a_replica_that_has_no_leave_is_not_elected_before_it_has_some(version: str, tmp_path: Path) -> None:
    async def scene(agents: list[BoundAgent]) -> None:
        primary, *_, replica = agents
        for agent in agents:
            await agent.bind()
        replica.is_given = False
        await replica.wait_for_fence(str(FENCED), "yes")
        await primary.kill()
        await asyncio.sleep(3 * NODE_TIMEOUT_MS / 1000)
        assert (await replica.seen()).myself.role is Role.REPLICA
        replica.is_given = True
        await replica.wait_until("it is elected", lambda view: view.seen.myself.role is Role.PRIMARY)
        await replica.wait_for_fence("0", "no")

    play(version, tmp_path, 4, scene, primaries=3)


def test_a_server_is_let_in_only_with_leave_by_the_terms_that_come_with_the_order(version: str, tmp_path: Path) -> None:
    async def run(agent: BoundAgent) -> None:
        async with agent.working():
            agent.made.start_server()
            await agent.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
            announced = pb.Announced(address=agent.bus_address, hostname="c-0")
            request = {"kind": pb.START_KIND_CLUSTER_NODE, "announced": announced, "terms": terms(1)}
            agent.is_given = False
            assert (await agent.try_order("Open", **request)).outcome == pb.OUTCOME_NO_LICENCE
            agent.is_given = True
            await agent.order("Open", **request)
            report = await agent.wait_for_health()
            assert (report.terms, report.promised_epoch, report.fenced) == (terms(1), 1, False)
            assert await agent.fence() == ["1", "no"]

    with pod(version, tmp_path / "c-0") as made:
        asyncio.run(run(BoundAgent(made)))


def test_a_node_asks_the_witnesses_and_is_fenced_once_too_few_of_them_answer(version: str, tmp_path: Path) -> None:
    async def run(agent: BoundAgent, shard: Shard) -> None:
        async with agent.working(), shard.replica("cart-1-0", cluster="cart"):
            await agent.start()
            agent.is_given = False
            async with shard.replica("cart-2-0", cluster="cart"):
                asked = pb.Terms(
                    sets=[pb.MemberSet(nodes=["cart-1-0", "cart-2-0", "cart-3-0"])],
                    fence_after_ms=FENCE_AFTER_MS,
                    missed_after_ms=MISSED_AFTER_MS,
                    elected=True,
                )
                bound = await agent.service.obey("Bind", pb.BindRequest(order=ORDER, terms=asked))
                assert bound.outcome == pb.OUTCOME_OBEYED, bound
                await asyncio.sleep(2 * FENCE_AFTER_MS / 1000)
                assert await agent.fence() == ["0", "no"]
            await agent.wait_for_fence(str(FENCED), "yes")
            async with shard.replica("cart-2-0", cluster="cart"):
                await agent.wait_for_fence("0", "no")

    shard = Shard(tmp_path)
    with pod(version, tmp_path / "c-0") as made:
        asyncio.run(run(BoundAgent(made, shard), shard))


def test_a_newer_epoch_without_leave_fences_and_other_terms_are_kept(version: str, tmp_path: Path) -> None:
    async def scene(agents: list[BoundAgent]) -> None:
        [agent] = agents
        await agent.bind()
        agent.is_given = False
        assert (await agent.bind(epoch=2)).outcome == pb.OUTCOME_NO_LICENCE
        await agent.wait_for_fence(str(FENCED), "yes")
        agent.is_given = True
        assert (await agent.bind(epoch=2, least_replicas=1)).outcome == pb.OUTCOME_OBEYED
        await agent.wait_for_fence("1", "no")
        assert agent.node.report.facts.promise.epoch == 2

    play(version, tmp_path, 1, scene)


def test_an_agent_that_cannot_reach_the_others_does_not_let_itself_be_bound(version: str, tmp_path: Path) -> None:
    async def scene(agents: list[BoundAgent]) -> None:
        [agent] = agents
        agent.node.report = msgspec.structs.replace(agent.node.report, keeps_terms=False)
        assert (await agent.bind()).outcome == pb.OUTCOME_BAD_ORDER
        assert agent.node.report.facts.promise == Promise(term=1, epoch=1)

    play(version, tmp_path, 1, scene)
