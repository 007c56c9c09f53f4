"""Steps that take longer than a look go on, hold up nothing but their own nodes, and are told of once they are over."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.clusters import facts, formed
from tests.unit.controllers.test_cluster_steps import VIEW, sight_of
from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import OrderResult
from valkey_operator.controllers.cluster_steps import ClusterSteps
from valkey_operator.controllers.cluster_under_way import StepsUnderWay
from valkey_operator.core.cluster.facts import ClusterRecord, FailoverKind
from valkey_operator.core.cluster.steps import BumpEpoch, Failover, Forget
from valkey_operator.kube.objects import Key

CLUSTER = Key("app", "c")
SIGHT = sight_of(facts(formed()))
SLOW, QUICK = BumpEpoch(node="c-0-0"), BumpEpoch(node="c-1-0")


class Agents:
    """That of c-0-0 takes its time, until it is let go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.ordered: list[str] = []
        self.given_up: list[str] = []
        self.outcome = Outcome.OBEYED

    async def order(self, target: Target, name: str, /, **_fields: Any) -> OrderResult:
        word = f"{name} {target.key.name}"
        self.ordered.append(word)
        if word == "BumpEpoch c-0-0":
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.given_up.append(word)
                raise
        return OrderResult(self.outcome, "its words", VIEW, {})


def play(scene: Callable[[StepsUnderWay, Agents], Awaitable[None]]) -> None:
    async def run() -> None:
        agents: Any = Agents()
        writer: Any = None
        await scene(StepsUnderWay(ClusterSteps(writer, agents)), agents)

    asyncio.run(run())


async def a_moment(agents: Agents) -> None:
    agents.go_on.set()
    await asyncio.sleep(0.01)


def test_what_is_slow_goes_on_and_what_is_not_is_told_at_once() -> None:
    async def scene(under_way: StepsUnderWay, agents: Agents) -> None:
        ended = await under_way.begin(CLUSTER, [SLOW, QUICK], SIGHT, ClusterRecord())
        assert [(each.step, each.failed) for each in ended] == [(QUICK, None)]
        assert not under_way.is_idle(CLUSTER)
        await a_moment(agents)
        assert [each.step for each in under_way.ended(CLUSTER)] == [SLOW]
        assert under_way.is_idle(CLUSTER)
        assert under_way.ended(CLUSTER) == []

    play(scene)


def test_nodes_of_what_is_slow_get_no_other_order_and_those_of_other_clusters_do() -> None:
    async def scene(under_way: StepsUnderWay, agents: Agents) -> None:
        await under_way.begin(CLUSTER, [SLOW], SIGHT, ClusterRecord())
        assert not under_way.is_free(CLUSTER, Forget(nodes=("c-1-0", "c-0-0"), id="a" * 40))
        assert under_way.is_free(CLUSTER, QUICK)
        assert under_way.is_free(Key("app", "d"), SLOW)
        await a_moment(agents)
        under_way.ended(CLUSTER)
        assert under_way.is_free(CLUSTER, SLOW)

    play(scene)


def test_a_failover_does_not_wait_for_what_is_under_way_at_its_node() -> None:
    async def scene(under_way: StepsUnderWay, agents: Agents) -> None:
        await under_way.begin(CLUSTER, [SLOW], SIGHT, ClusterRecord())
        force = Failover(node="c-0-0", kind=FailoverKind.FORCE)
        assert under_way.is_free(CLUSTER, force)
        ended = await under_way.begin(CLUSTER, [force], SIGHT, ClusterRecord())
        assert agents.given_up == ["BumpEpoch c-0-0"]
        assert [each.step for each in ended] == [force]
        assert under_way.is_idle(CLUSTER)

    play(scene)


def test_what_failed_late_is_told_with_the_reason() -> None:
    async def scene(under_way: StepsUnderWay, agents: Agents) -> None:
        await under_way.begin(CLUSTER, [SLOW], SIGHT, ClusterRecord())
        agents.outcome = Outcome.SERVER_REFUSED
        await a_moment(agents)
        [ended] = under_way.ended(CLUSTER)
        assert ended.failed is not None
        assert "c-0-0 did not obey BumpEpoch: its words" in str(ended.failed.problem)

    play(scene)


def test_of_a_cluster_that_is_gone_nothing_goes_on() -> None:
    async def scene(under_way: StepsUnderWay, agents: Agents) -> None:
        await under_way.begin(CLUSTER, [SLOW], SIGHT, ClusterRecord())
        under_way.forget(CLUSTER)
        await asyncio.sleep(0)
        assert agents.given_up == ["BumpEpoch c-0-0"]

    play(scene)
