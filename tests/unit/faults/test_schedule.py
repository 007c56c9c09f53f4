"""Schedules are drawn from their seed alone, and faults of a storm overlap."""

from itertools import combinations

import pytest

from faults.catalogue import KINDS, NAMES, USUAL, plan_of
from faults.schedule import CLUSTER_STORM, STORM, Planned, is_for_cluster, next_run


def test_a_plan_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    for kind in NAMES:
        assert plan_of(kind, 7) == plan_of(kind, 7)
        assert plan_of(kind, 7).faults != plan_of(kind, 8).faults


def test_a_kind_alone_lasts_within_its_bounds() -> None:
    for name, kind in KINDS.items():
        [fault] = plan_of(name, 3).faults
        assert kind.lasting.shortest_s <= fault.lasts_s <= kind.lasting.longest_s


def test_every_fourth_seed_is_for_quorum() -> None:
    durabilities = [plan_of("roll", seed).durability for seed in range(1, 9)]
    assert durabilities == [*["Available"] * 3, "Quorum"] * 2


def test_faults_of_a_storm_overlap_and_over_many_seeds_every_usual_kind_comes() -> None:
    storms = [plan_of(STORM, seed).faults for seed in range(60)]
    assert {fault.kind for storm in storms for fault in storm} == {
        kind for kind in USUAL if kind != STORM and not is_for_cluster(kind)
    }
    assert sum(overlap(storm) for storm in storms) > 50


def test_storms_of_clusters_are_about_thirty_kills_rolls_and_changes_of_number() -> None:
    storms = [plan_of(CLUSTER_STORM, seed).faults for seed in range(20)]
    assert all(25 <= len(storm) <= 35 and overlap(storm) for storm in storms)
    assert {fault.kind for storm in storms for fault in storm} == {
        "cluster-delete-pod",
        "cluster-force-delete-pod",
        "cluster-kill-primary",
        "cluster-kill-replica",
        "cluster-operator-kill",
        "cluster-roll",
        "cluster-scale-replicas",
        "cluster-scale-shards",
    }


def test_a_kind_is_for_a_cluster_if_its_name_says_so() -> None:
    assert {name for name, kind in KINDS.items() if kind.setting.is_cluster} == set(filter(is_for_cluster, KINDS))
    assert {name for name, kind in KINDS.items() if kind.promise.is_for_cluster} == set(filter(is_for_cluster, KINDS))


def test_runs_of_clusters_have_the_default_durability() -> None:
    assert {plan_of("cluster-roll", seed).durability for seed in range(1, 9)} == {"Available"}
    assert next_run({"cluster-roll": [], "roll": [1, 2, 3, 4]}, "Quorum") == ("roll", 8)
    with pytest.raises(ValueError, match="cluster-roll"):
        next_run({"cluster-roll": []}, "Quorum")


def overlap(storm: tuple[Planned, ...]) -> bool:
    """Whether one comes before another is over; they are in the order of their beginning."""
    return any(later.at_s < one.at_s + one.lasts_s for one, later in combinations(storm, 2))


def test_the_kind_with_the_fewest_runs_is_next_with_a_seed_it_has_not_had() -> None:
    assert next_run({"roll": [1, 2, 3], "drain": [1], "scale": [1]}) == ("drain", 2)
    assert next_run({"roll": [], "drain": []}) == ("roll", 1)


def test_where_one_durability_is_asked_for_only_its_runs_count() -> None:
    assert next_run({"roll": [1, 2], "drain": [3, 4, 8]}, "Available") == ("drain", 9)
    assert next_run({"roll": [1, 2, 3]}, "Available") == ("roll", 5)
    assert next_run({"roll": [1, 2, 3]}, "Quorum") == ("roll", 4)
