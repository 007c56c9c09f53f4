"""The real planner in the model of a cluster: whatever happens, every slot has one owner at rest, and nothing is lost.

A failure tells the story of its seed, and the line that repeats it.
"""

import pytest

from tests.sim.cluster_api import Api
from tests.sim.cluster_api_faults import API_FAULTS, let_the_cache_lag, pause_the_leader
from tests.sim.cluster_chaos import live
from tests.sim.cluster_faults import (
    BY_HAND,
    FAULTS,
    WISHES,
    change_replicas,
    change_shards,
    cut_most,
    cut_one,
    kill_all,
    kill_one,
    mend_network,
    open_by_hand,
    sleep,
)
from tests.sim.cluster_leader import Leader
from tests.sim.cluster_world import World

BATCH = 20
CUTS = (cut_most, kill_one, cut_one, kill_one, mend_network)
DEATHS = (kill_one, kill_one, kill_all, change_shards, open_by_hand, open_by_hand)
EVERYTHING = (*FAULTS, *WISHES, *BY_HAND)
LEADERS = (change_shards, change_replicas, sleep, pause_the_leader, pause_the_leader, let_the_cache_lag)


@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_a_cluster_is_scaled_rolled_and_put_to_sleep_although_the_operator_crashes(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, WISHES)


@pytest.mark.parametrize("first", range(1000, 1004, 2))
def test_a_cluster_of_older_servers_is_scaled_key_by_key(first: int) -> None:
    for seed in range(first, first + 2):
        live(seed, WISHES, version="8.1.1")


@pytest.mark.parametrize("first", range(2000, 2120, BATCH))
def test_a_cluster_that_is_broken_comes_to_rest_with_all_that_was_confirmed(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, FAULTS)


@pytest.mark.parametrize("first", range(3000, 3060, BATCH))
def test_a_cluster_that_is_changed_while_it_is_broken_comes_to_rest_as_last_asked_for(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, EVERYTHING)


@pytest.mark.parametrize("first", range(4000, 4060, BATCH))
def test_a_cluster_comes_to_rest_although_its_api_server_is_away_and_leaders_of_before_wake_up(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, (*EVERYTHING, *API_FAULTS, *API_FAULTS))


def test_an_id_whose_epoch_few_had_heard_of_does_not_keep_its_slots_for_these_few() -> None:
    live(501_096, (*EVERYTHING, *API_FAULTS, *API_FAULTS))


@pytest.mark.parametrize("seed", [249, 408])
def test_a_record_is_written_only_over_the_version_that_was_seen_or_no_rest_is_found(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(seed, LEADERS)
    monkeypatch.setattr(Api, "writes_over_anything", True)
    with pytest.raises(AssertionError):
        live(seed, LEADERS)


def test_a_slot_is_not_lost_between_two_whose_epochs_are_raised_at_the_same_time() -> None:
    live(102_061, EVERYTHING, version="8.0.1")


def test_an_owner_that_dies_with_an_epoch_nobody_has_heard_of_does_not_win_its_slots_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live(102_380, EVERYTHING, version="8.0.1")
    live(102_175, DEATHS, version="8.0.1")
    monkeypatch.setattr("valkey_operator.core.cluster.gate._outranked_successor", lambda *_: None)
    with pytest.raises(AssertionError, match="lost 2 confirmed writes"):
        live(102_175, DEATHS, version="8.0.1")


@pytest.mark.parametrize(
    ("owner", "rule", "seeds"),
    [
        pytest.param(World, "writes_without_leave", range(10), id="servers without leave are fenced"),
        pytest.param(World, "is_elected_without_leave", range(190, 195), id="servers without leave are not elected"),
        pytest.param(Leader, "is_hasty", range(30, 40), id="the leader waits until older leave has run out"),
    ],
)
def test_a_machine_with_most_primaries_is_cut_off_safely_and_only_by_this_rule(
    owner: type, rule: str, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    _live_each(seeds)
    monkeypatch.setattr(owner, rule, True)
    with pytest.raises(AssertionError):
        _live_each(seeds)


def _live_each(seeds: range) -> None:
    for seed in seeds:
        live(seed, CUTS)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(10_000, 12_000, 250))
def test_two_thousand_lives_of_all_sorts_come_to_rest(first: int) -> None:
    for seed in range(first, first + 250):
        events = EVERYTHING if seed % 2 else (*EVERYTHING, *API_FAULTS)
        live(seed, events, version="8.0.1" if seed % 10 == 0 else "9.1.2")
