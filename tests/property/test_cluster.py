"""Laws of the plans for a cluster, whatever its nodes say."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import World, facts, formed, id_of, with_node
from valkey_operator.core.cluster.facts import ClusterFacts, FailoverKind, Member, is_at_gate, is_dead, runs
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.scale import removable
from valkey_operator.core.cluster.steps import (
    AddSlots,
    Failover,
    Forget,
    Migrate,
    Open,
    Remember,
    Replicate,
    Reset,
    Step,
)
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.slots import slot_range
from valkey_operator.valkey.states import ProcessState

NAMES = sorted(formed(4, 2))
names = st.sampled_from(NAMES)
some_slots = st.tuples(st.integers(0, 16383), st.integers(0, 5000)).map(
    lambda pair: slot_range(pair[0], min(16383, sum(pair)))
)
seen_otherwise = st.dictionaries(
    names, st.fixed_dictionaries({}, optional={"slots": some_slots, "failing": st.sampled_from(Failing)}), max_size=2
)
oddities: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "process": st.sampled_from([*ProcessState, None]),
        "primary": st.none() | names,
        "epoch": st.integers(0, 6),
        "slots": some_slots,
        "id": st.just("f" * 40),
        "gives": st.dictionaries(st.integers(0, 9), names, max_size=2),
        "takes": st.dictionaries(st.integers(0, 9), names, max_size=2),
        "whole": st.booleans(),
        "linked": st.booleans(),
        "has_file": st.booleans(),
        "knows": st.none() | st.frozensets(names),
        "sees": seen_otherwise,
        "failing": st.sampled_from(Failing),
        "version": st.sampled_from(["8.1.1", "9.1.2"]),
    },
)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterFacts:
    """A cluster of four shards in which a few nodes are odd, or strangers; the user may want anything."""
    world: World = formed(4, 2)
    for name in draw(st.sets(names | st.just("stranger"), max_size=4)):
        world = with_node(world, name, **{"id": id_of(name), **draw(oddities)})
    return facts(world, shards=draw(st.integers(3, 5)), replicas=draw(st.integers(0, 3)), may_lose=draw(st.booleans()))


def told_of(step: Step) -> list[str]:
    """The nodes at which a step is carried out."""
    if isinstance(step, Remember):
        return []
    if isinstance(step, Migrate):
        return [step.source, step.target]
    return list(step.nodes) if isinstance(step, Forget) else [step.node]


def member(found: ClusterFacts, name: str) -> Member:
    known = found.member(name)
    assert known is not None, f"{name} is no member"
    return known


@settings(max_examples=50)
@given(clusters())
def test_the_same_facts_give_the_same_plan(found: ClusterFacts) -> None:
    assert plan_cluster(found) == plan_cluster(msgspec.structs.replace(found))


@settings(max_examples=50)
@given(clusters())
def test_steps_concern_members_that_can_carry_them_out(found: ClusterFacts) -> None:
    for step in plan_cluster(found).steps:
        able = is_at_gate if isinstance(step, Open) else runs
        assert all(able(member(found, name)) for name in told_of(step)), step


@settings(max_examples=50)
@given(clusters())
def test_nothing_is_destroyed_while_anybody_is_silent(found: ClusterFacts) -> None:
    if all(runs(each) for each in found.members):
        return
    view = look_at(found).view
    for step in plan_cluster(found).steps:
        assert not isinstance(step, Forget | Reset | AddSlots), step
        if isinstance(step, Replicate):
            truth = view.truth_of(member(found, step.node))
            assert truth is not None
            assert truth.primary is None, f"{step} gives up a copy"


@settings(max_examples=50)
@given(clusters())
def test_force_replaces_only_who_is_dead_or_failed_for_all_and_goes_to_one_replica_of_each(found: ClusterFacts) -> None:
    cluster = look_at(found)
    forced = [step for step in plan_cluster(found).steps if isinstance(step, Failover)]
    forced = [step for step in forced if step.kind is FailoverKind.FORCE]
    replaced = [cluster.view.primary_of(member(found, step.node)) for step in forced]
    for node in replaced:
        owner = found.member(node.member) if node else None
        assert owner is None or is_dead(owner) or (node and node.failed_for and not runs(owner))
    assert len({node.id for node in replaced if node}) == len(forced)


@settings(max_examples=50)
@given(clusters())
def test_at_most_one_record_is_written_and_before_all_else(found: ClusterFacts) -> None:
    records = [at for at, step in enumerate(plan_cluster(found).steps) if isinstance(step, Remember)]
    assert len(records) <= 1


@settings(max_examples=50)
@given(clusters())
def test_no_owner_of_slots_is_removed_while_the_cluster_is_awake(found: ClusterFacts) -> None:
    cluster = look_at(found)
    if found.replicas > 0:
        assert not any(cluster.view.slots_of(member(found, name)) for name in removable(cluster))
