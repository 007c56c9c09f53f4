"""The interleavings that were found on paper, each as a story in the model: none of them ends with two primaries.

Each has a twin in which the rule that closes it is switched off; there the same story must fail, or it shows nothing.
Stories 7, 14 and 18 are about one rule of an agent, of the planner or of TLS alone, and ask that very function.
"""

import ssl
from collections.abc import Callable

import pytest

from tests.sim import stories_of_cuts as cuts
from tests.sim import stories_of_leave as leave
from tests.sim import stories_of_orders as orders
from tests.sim.shard_chaos import expect
from tests.sim.shard_servers import BrokenRuleError
from tests.sim.shard_stage import LONG_ENOUGH_S, Stage
from valkey_operator.core.shard.steps import Release

Story = Callable[[], None]
Patch = Callable[[pytest.MonkeyPatch], None]

CASES: list[tuple[Story, Patch]] = [
    (cuts.a_primary_and_one_replica_are_cut_off_together, cuts.one_replica_is_enough),
    (cuts.a_primary_reaches_the_api_server_alone, cuts.the_record_gives_leave_though_an_operator_leads),
    (cuts.a_pod_is_frozen_and_thaws, cuts.servers_need_no_replicas),
    (cuts.a_machine_whose_clock_stood_still_comes_back, cuts.servers_need_no_replicas),
    (cuts.an_agent_is_killed_on_a_machine_that_is_cut_off, cuts.servers_need_no_replicas),
    (orders.a_primary_restarts_before_the_operator_acts, orders.who_is_named_starts),
    (orders.a_server_hangs_up_on_its_agent, orders.a_closed_socket_is_death),
    (cuts.a_pod_is_deleted_by_force_on_a_machine_that_is_cut_off, cuts.a_pod_that_is_gone_has_ended),
    (leave.a_promotion_comes_late, leave.an_order_is_a_licence),
    (orders.an_old_leader_writes_the_record, orders.the_last_writer_wins),
    (orders.an_old_order_meets_a_new_pod, orders.orders_are_for_whoever_gets_them),
    (cuts.a_server_hangs_beside_its_agent, cuts.who_hangs_is_left_alive),
    (orders.who_was_chosen_restarts_empty, orders.data_are_not_compared),
    (orders.a_mark_outlives_the_data, orders.a_mark_is_a_copy),
    (orders.a_primary_restarts_with_an_old_copy, orders.who_restarted_starts),
    (orders.who_confirmed_a_value_restarts, orders.any_replica_is_enough),
    (
        cuts.the_only_replica_is_gone_and_the_operator_is_not_reached,
        cuts.the_record_gives_leave_though_an_operator_leads,
    ),
    (leave.all_certificates_have_expired, leave.dates_are_checked),
    (leave.the_operator_gives_leave_and_is_cut_off, leave.leave_that_was_given_is_forgotten),
    (leave.the_record_gives_leave_while_nobody_leads, leave.leave_that_was_given_is_forgotten),
    (leave.a_leader_is_paused_while_the_list_grows, leave.the_primary_knows_the_new_list_alone),
    (orders.an_old_leader_gives_orders, orders.terms_do_not_matter),
    (
        orders.a_primary_that_was_told_who_could_take_over_finds_an_older_record,
        orders.who_is_named_starts_whatever_its_terms,
    ),
    (leave.a_leader_comes_between_two_questions, leave.leave_counts_from_the_record),
    (leave.a_primary_that_did_not_park_goes_on, leave.who_was_told_to_park_asks_nobody),
    (leave.a_promotion_comes_late, leave.leave_counts_from_the_order),
    (cuts.a_primary_reaches_the_operator_and_none_of_its_replicas, cuts.who_has_most_is_chosen),
]
NUMBERED = [pytest.param(*case, id=f"{number}-{case[0].__name__}") for number, case in enumerate(CASES, start=1)]


@pytest.mark.parametrize(("story", "rule_off"), NUMBERED)
def test_what_was_found_on_paper_ends_well(story: Story, rule_off: Patch) -> None:
    story()


@pytest.mark.parametrize(("story", "rule_off"), NUMBERED)
def test_it_ends_badly_with_its_rule_switched_off(
    story: Story, rule_off: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule_off(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, ssl.SSLError)):
        story()


# --- found by the model ---------------------------------------------------------------------------------------------


def test_who_deletes_by_force_a_primary_and_the_replica_that_lets_it_write_has_said_that_they_have_ended() -> None:
    """A limit that docs/durability.md tells: else nobody could help where a machine is lost for good."""
    stage = Stage(replicas=2)
    stage.world.leave.ghosts_grant = True
    for name in ("x-1", "x-0"):
        stage.cut(name, zone=0)
        stage.world.force_delete(stage.place(name))
        stage.go(2, led=False)
    with pytest.raises(BrokenRuleError, match=r"x-1 .* and x-0 .* both take writes"):
        stage.go(LONG_ENOUGH_S)


def test_who_has_resynced_fully_with_a_primary_that_was_just_promoted_takes_over_from_it() -> None:
    """The leader is gone right after a promotion; a listed replica comes back empty, and then that primary dies."""
    stage = Stage(persistent=False)
    stage.world.wished = "x-1"
    stage.pause_before(Release)
    stage.operator.resign(politely=False)
    stage.world.kill(stage.place("x-2"), with_pod=True)
    stage.go(2, led=False)
    stage.write(3)
    stage.go(1, led=False)
    stage.world.kill(stage.place("x-1"))
    stage.go(LONG_ENOUGH_S)
    expect(len(stage.server(stage.primary or "").values) == 6, "what x-2 had is lost")
