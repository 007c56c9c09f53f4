"""Steps of a cluster go side by side, and one that fails holds up only what follows it at its node."""

import asyncio
from typing import Any

import pytest

from tests.support.clusters import facts, formed, slots, with_node
from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentUnreachableError, OrderResult
from valkey_operator.controllers.cluster_facts import ClusterSight
from valkey_operator.controllers.cluster_steps import ClusterSteps, Failed
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, FailoverKind
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.steps import AddSlots, Bind, BumpEpoch, Failover, Forget, Replicate, Step
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.pods import PodFacts
from valkey_operator.valkey.states import ProcessState
from valkey_operator.valkey.terms import Terms

FACTS = facts(formed())
VIEW = NodeView(pod_uid="uid", boot_id="boot", seq=1)
SLOW_S = 0.05


class Agents:
    """Obey, unless the test says otherwise; what was ordered is told in its order."""

    def __init__(self, outcomes: dict[str, Outcome | None] | None = None) -> None:
        self.outcomes = outcomes or {}
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.dropped: list[str] = []
        self.pulled: list[str] = []

    async def pull(self, targets: Any, **_: Any) -> None:
        self.pulled += [target.key.name for target in targets]

    async def report(self, target: Target, **_: Any) -> NodeView:
        self.begun.append(f"Report {target.key.name}")
        return VIEW

    def is_silent(self, _target: Target) -> bool:
        return False

    async def order(self, target: Target, name: str, /, *, epoch: int, **_fields: Any) -> OrderResult:
        assert epoch == 0
        word = f"{name} {target.key.name}"
        self.begun.append(word)
        await asyncio.sleep(SLOW_S)
        self.ended.append(word)
        outcome = self.outcomes.get(word, Outcome.OBEYED)
        if outcome is None:
            raise AgentUnreachableError(f"{target.key.name} is silent")
        return OrderResult(outcome, "its words", VIEW, {})

    def drop(self, target: Target) -> None:
        self.dropped.append(target.key.name)


def pod(name: str) -> PodFacts:
    return PodFacts(name=f"{name}-0", uid=name, ip="10.1.1.1", agent_started=True)


def sight_of(found: ClusterFacts) -> ClusterSight:
    pods = {each.name: pod(each.name) for each in found.members}
    return ClusterSight(namespace="app", cluster=look_at(found), pods=pods)


def carry_out(agents: Agents, *steps: Step, sight: ClusterSight | None = None) -> list[Failed]:
    async def run() -> list[Failed]:
        writer: Any = None
        told: Any = agents
        tasks = ClusterSteps(writer, told).begin(steps, sight or sight_of(FACTS), ClusterRecord())
        return [failed for failed in await asyncio.gather(*tasks) if failed is not None]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("replicas", "asked"),
    [
        pytest.param(3, ["c-0-1", "c-0-2"], id="offsets are as old as the last news"),
        pytest.param(2, [], id="there is nobody to compare with"),
    ],
)
def test_replicas_of_a_primary_that_died_are_asked_how_far_they_are(replicas: int, asked: list[str]) -> None:
    agents: Any = Agents()
    writer: Any = None
    died = facts(with_node(formed(replicas=replicas), "c-0-0", process=ProcessState.GONE), replicas=replicas)
    assert asyncio.run(ClusterSteps(writer, agents).ask(sight_of(died))) == bool(asked)
    assert agents.pulled == asked


def test_steps_at_different_nodes_go_at_the_same_time() -> None:
    agents = Agents()
    assert carry_out(agents, BumpEpoch(node="c-0-0"), BumpEpoch(node="c-1-0")) == []
    assert (len(agents.begun), agents.ended) == (2, agents.begun)


def test_steps_at_one_node_go_one_after_the_other() -> None:
    agents = Agents()
    carry_out(agents, AddSlots(node="c-0-0", slots=slots("1")), BumpEpoch(node="c-0-0"))
    assert agents.ended == ["AddSlots c-0-0", "BumpEpoch c-0-0"]


def test_what_is_refused_holds_up_nobody_else() -> None:
    agents = Agents({"BumpEpoch c-0-0": Outcome.SERVER_REFUSED})
    refused, fine = BumpEpoch(node="c-0-0"), Replicate(node="c-0-1", primary="a" * 40)
    [failed] = carry_out(agents, refused, fine)
    assert failed.step is refused
    assert "c-0-0 did not obey BumpEpoch: its words" in str(failed.problem)
    assert "Replicate c-0-1" in agents.ended


def test_what_follows_a_failure_at_its_node_is_not_tried() -> None:
    agents = Agents({"AddSlots c-0-0": Outcome.SERVER_REFUSED})
    first, second = carry_out(agents, AddSlots(node="c-0-0", slots=slots("1")), BumpEpoch(node="c-0-0"))
    assert (first.tried, second.tried) == (True, False)
    assert agents.begun == ["AddSlots c-0-0"]


def test_whoever_is_bound_is_asked_for_a_report_first_from_which_its_leave_counts() -> None:
    agents = Agents()
    assert carry_out(agents, Bind(node="c-0-0", terms=Terms(elected=True))) == []
    assert agents.begun == ["Report c-0-0", "Bind c-0-0"]


def test_of_an_agent_that_does_not_answer_nothing_is_believed_any_more() -> None:
    agents = Agents({"BumpEpoch c-0-0": None})
    [failed] = carry_out(agents, BumpEpoch(node="c-0-0"))
    assert agents.dropped == ["c-0-0"]
    assert failed.tried


def test_a_failover_that_has_only_begun_is_no_failure() -> None:
    agents = Agents({"Failover c-0-1": Outcome.UNFINISHED})
    assert carry_out(agents, Failover(node="c-0-1", kind=FailoverKind.FORCE)) == []


def test_an_id_that_one_node_keeps_is_forgotten_by_the_others() -> None:
    agents = Agents({"Forget c-0-0": Outcome.SERVER_REFUSED})
    [failed] = carry_out(agents, Forget(nodes=("c-0-0", "c-1-0"), id="a" * 40))
    assert isinstance(failed.step, Forget)
    assert "Forget c-1-0" in agents.ended


def test_a_node_without_an_address_is_a_failure_that_passes() -> None:
    sight = ClusterSight(namespace="app", cluster=look_at(FACTS), pods={})
    [failed] = carry_out(Agents(), BumpEpoch(node="c-0-0"), sight=sight)
    assert "no address yet" in str(failed.problem)
