"""A user's wish for a primary: met once, as soon as it can be, and told where it cannot."""

from typing import Any

import msgspec
import pytest

from tests.support.shards import a_primary, facts, member, parked, record, replica_of, swapped, switchover, waiting
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Reason, ShardPlan, SwapRecord
from valkey_operator.core.shard.wished import obstacle, open_wish
from valkey_operator.valkey.terms import Terms

BOUND = Terms(sets=(("x-1", "x-2"),))
PRIMARY = member("x-0", a_primary(terms=BOUND))
X1, X2 = member("x-1", replica_of("x-0")), member("x-2", replica_of("x-0"))
LISTED = ["x-1", "x-2"]


def wishing(name: str | None, *members: Member, replicas: int | None = None, **on_record: Any) -> ShardFacts:
    known = facts(*(members or (PRIMARY, X1, X2)), replicas=replicas, on_record=record(promotable=LISTED, **on_record))
    return msgspec.structs.replace(known, wished=name)


def reason_of(plan: ShardPlan) -> Reason:
    assert isinstance(plan.steps[0], SwapRecord), plan
    return plan.steps[0].reason


class TestAnOpenWish:
    """One that was not met since it was asked for."""

    @pytest.mark.parametrize(
        ("wished", "met", "found"),
        [
            (None, None, None),
            ("x-2", None, "x-2"),
            ("x-2", "x-1", "x-2"),
            ("x-2", "x-2", None),
            ("x-0", None, None),
            ("x-9", None, "x-9"),
        ],
    )
    def test_differs_from_what_was_met_and_from_what_is(
        self, wished: str | None, met: str | None, found: str | None
    ) -> None:
        assert open_wish(wishing(wished, wish_met=met)) == found

    def test_makes_the_primary_hand_over_to_the_very_node_that_was_named(self) -> None:
        found = swapped(plan_shard(wishing("x-2"))).operation
        assert found is not None
        assert (found.source, found.target, found.reason) == ("x-0", "x-2", "valkey.io/primary asks for x-2")

    def test_is_met_by_the_very_change_that_makes_the_node_primary(self) -> None:
        known = wishing("x-2", member("x-0", parked()), X1, X2, operation=switchover(target="x-2"))
        found = swapped(plan_shard(known))
        assert (found.primary, found.wish_met) == ("x-2", "x-2")

    def test_is_not_met_by_a_handover_to_somebody_else(self) -> None:
        known = wishing("x-2", member("x-0", parked()), X1, X2, operation=switchover(target="x-1"), wish_met="x-0")
        found = swapped(plan_shard(known))
        assert (found.primary, found.wish_met) == ("x-1", "x-0")

    def test_for_the_present_primary_is_noted_and_told(self) -> None:
        plan = plan_shard(wishing("x-0"))
        assert (reason_of(plan), swapped(plan).wish_met, swapped(plan).primary) == (Reason.WISH_MET, "x-0", "x-0")

    def test_decides_to_whom_a_primary_hands_over_that_has_to_go_anyway(self) -> None:
        going = member("x-0", a_primary(leaving=True, terms=BOUND))
        found = swapped(plan_shard(wishing("x-2", going, X1, X2))).operation
        assert found is not None
        assert (found.target, found.reason) == ("x-2", "its pod is being stopped")

    def test_does_not_hold_up_a_primary_that_has_to_go(self) -> None:
        going = member("x-0", a_primary(leaving=True, terms=BOUND))
        found = swapped(plan_shard(wishing("x-2", going, X1, member("x-2", waiting()))))
        assert found.operation is None or found.operation.target == "x-1"


class TestAWishThatWasMet:
    """It does not fight a failover, and can be asked for again."""

    def test_is_not_met_twice(self) -> None:
        assert plan_shard(wishing("x-2", wish_met="x-2")) == ShardPlan()

    @pytest.mark.parametrize("wished", [None, "x-1", "x-9"])
    def test_is_forgotten_when_the_annotation_says_something_else(self, wished: str | None) -> None:
        plan = plan_shard(wishing(wished, wish_met="x-2"))
        assert (reason_of(plan), swapped(plan).wish_met) == (Reason.WISH_FORGOTTEN, None)

    def test_is_kept_while_nobody_is_primary(self) -> None:
        known = wishing(
            None, member("x-0", waiting()), member("x-1", parked()), member("x-2", parked()), wish_met="x-2"
        )
        assert swapped(plan_shard(known)).wish_met == "x-2"


OBSTACLES: list[tuple[str, ShardFacts, str, str]] = [
    ("no such node", wishing("x-9"), "NoSuchNode", r'"x-9": there is no such node. Name one of x-0, x-1, x-2'),
    ("a word that is no name", wishing("the second"), "NoSuchNode", r'"the second": there is no such node'),
    (
        "a node that goes",
        wishing("x-2", PRIMARY, X1, member("x-2", replica_of("x-0"), wanted=False)),
        "NoSuchNode",
        "Name one of x-0, x-1, or",
    ),
    (
        "out of sync",
        wishing("x-2", PRIMARY, X1, member("x-2", replica_of("x-0", up=False))),
        "NotInSync",
        "x-2 is not in sync with x-0; it becomes primary once it is",
    ),
    ("silent", wishing("x-2", PRIMARY, X1, member("x-2")), "NotInSync", "not in sync"),
    ("no primary", wishing("x-2", primary=None), "NotInSync", "not in sync with a primary"),
    (
        "being stopped",
        wishing("x-2", PRIMARY, X1, member("x-2", replica_of("x-0", leaving=True))),
        "WishWaits",
        "its pod is being stopped",
    ),
    (
        "to be replaced",
        wishing("x-2", PRIMARY, X1, member("x-2", replica_of("x-0"), stale=True)),
        "WishWaits",
        "its pod is to be replaced",
    ),
    (
        "cordoned",
        wishing("x-2", PRIMARY, X1, member("x-2", replica_of("x-0"), cordoned=True)),
        "WishWaits",
        "its machine is cordoned",
    ),
    ("suspended", wishing("x-2", replicas=0), "WishWaits", "no pods run"),
]


@pytest.mark.parametrize(
    ("known", "reason", "words"), [row[1:] for row in OBSTACLES], ids=[row[0] for row in OBSTACLES]
)
def test_what_stands_against_a_wish_is_told_and_nothing_is_done(known: ShardFacts, reason: str, words: str) -> None:
    found = obstacle(known)
    assert found is not None
    assert (found.reason, words in found.message) == (reason, True), found
    swaps = [step for step in plan_shard(known).steps if isinstance(step, SwapRecord)]
    assert all(swap.record.operation is None for swap in swaps)


@pytest.mark.parametrize("known", [wishing(None), wishing("x-2"), wishing("x-0"), wishing("x-2", wish_met="x-2")])
def test_nothing_is_told_where_there_is_no_wish_or_it_can_be_met(known: ShardFacts) -> None:
    assert obstacle(known) is None
