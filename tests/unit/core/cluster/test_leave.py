"""Whose leave a node of a cluster needs, and what proves that one has it no more."""

from itertools import chain, combinations

import msgspec
import pytest

from tests.support.clusters import facts, formed, with_node
from valkey_operator.agent.licence import NEVER, Grants, good_until
from valkey_operator.core.cluster.facts import ClusterFacts, Leave
from valkey_operator.core.cluster.leave import (
    FENCE_AFTER_MS,
    fence_after_ms,
    is_run_out,
    is_told,
    terms_of,
    witnesses_of,
)

ALL = witnesses_of("c", 3, 2)


@pytest.mark.parametrize(
    ("shards", "replicas", "expected"),
    [
        (3, 1, ["c-0-0", "c-1-0", "c-2-0"]),
        (3, 2, ["c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1"]),
        (3, 3, ["c-0-0", "c-0-1", "c-0-2", "c-1-0", "c-1-1", "c-2-0", "c-2-1"]),
        (5, 2, ["c-0-0", "c-0-1", "c-1-0", "c-2-0", "c-2-1", "c-3-0", "c-4-0"]),
        (14, 2, ["c-0-0", "c-2-0", "c-4-0", "c-6-0", "c-8-0", "c-10-0", "c-12-0"]),
    ],
)
def test_witnesses_are_all_nodes_that_are_asked_for_or_seven_spread_over_the_shards(
    shards: int, replicas: int, expected: list[str]
) -> None:
    assert list(witnesses_of("c", shards, replicas)) == expected


def may_write(terms_facts: ClusterFacts, leave: Leave, node: str, granting: frozenset[str]) -> bool:
    terms = terms_of(terms_facts, leave, node)
    asked = {name: 0.0 for name in granting if name != node}
    return good_until(terms.sets, Grants(replicas=asked), 1.0)[0] > NEVER


@pytest.mark.parametrize("shards", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("node", ["c-0-0", "c-9-9"], ids=["a witness", "no witness"])
def test_who_has_leave_has_that_of_more_than_half_of_the_witnesses_and_who_has_more_than_half_has_leave(
    shards: int, node: str
) -> None:
    witnesses = witnesses_of("c", shards, 1)
    leave, found = Leave(epoch=1, witnesses=witnesses), facts(formed())
    subsets = chain.from_iterable(combinations(witnesses, size) for size in range(len(witnesses) + 1))
    for each in map(frozenset, subsets):
        counted = each | ({node} & set(witnesses))
        assert may_write(found, leave, node, each) == (2 * len(counted) > len(witnesses)), each


@pytest.mark.parametrize(("promised", "proven"), [(2, False), (3, True), (6, True)])
def test_leave_runs_out_once_half_of_the_witnesses_have_promised_a_newer_epoch(promised: int, proven: bool) -> None:
    world = formed()
    for name in ALL[promised:]:
        world = with_node(world, name, promised=1)
    leave = Leave(epoch=2, witnesses=ALL, kept=True)
    assert is_run_out(leave, facts(world, leave=leave).members) is proven


def test_witnesses_of_before_count_too_until_everybody_was_told_of_the_present_ones() -> None:
    world = with_node(with_node(formed(), "c-2-0", promised=1), "c-2-1", promised=1)
    leave = Leave(epoch=2, witnesses=ALL, former=("c-2-0", "c-2-1", "c-3-0"), kept=True)
    assert not is_run_out(leave, facts(world, leave=leave).members)
    one_more = with_node(world, "c-2-0", promised=2)
    assert not is_run_out(leave, facts(one_more, leave=leave).members)
    assert is_run_out(leave, facts(with_node(one_more, "c-2-1", promised=2), leave=leave).members)


def test_nothing_is_proven_of_servers_that_never_needed_leave() -> None:
    leave = Leave(epoch=2, witnesses=ALL)
    assert not is_run_out(leave, facts(formed(), leave=leave).members)


def test_a_node_is_told_once_it_is_bound_by_the_present_terms_in_the_present_epoch() -> None:
    leave = Leave(epoch=2, witnesses=ALL)
    world = with_node(with_node(formed(), "c-0-1", promised=1), "c-1-0", bound=False)
    found = facts(world, leave=leave)
    told = {each.name for each in found.members if is_told(found, leave, each)}
    assert told == set(ALL) - {"c-0-1", "c-1-0"}
    stricter = msgspec.structs.replace(found, least_replicas=1)
    assert not any(is_told(stricter, leave, each) for each in stricter.members)


@pytest.mark.parametrize(
    ("timeout_s", "expected"), [(0.1, 500), (1.0, 500), (2.0, 1500), (3.0, 2500), (5.0, 2500), (60.0, 2500)]
)
def test_leave_ends_half_a_second_before_the_servers_take_anybody_for_failed(timeout_s: float, expected: int) -> None:
    assert fence_after_ms(timeout_s) == expected <= FENCE_AFTER_MS


def test_a_node_is_told_how_long_its_leave_lasts_at_this_node_timeout() -> None:
    known = facts(formed(), node_timeout_s=1.5)
    leave = known.record.leave
    assert leave is not None
    assert terms_of(known, leave, "c-0-0").fence_after_ms == 1000
