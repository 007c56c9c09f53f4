import pytest

from valkey_operator.core.names import (
    Owner,
    cluster_place,
    node_host,
    node_index,
    node_name,
    owner_labels,
    pods_of,
    record_name,
    shard_labels,
    shard_name,
)


@pytest.mark.parametrize(
    "name",
    ["x", "x-", "x-a", "x-01", "x--1", "x-+1", "x-1 ", "x-²", "x-\u0661", "xy-1", "y-1", "1", "-1", "", "x-1-0"],
)
def test_a_name_that_is_no_nodes_of_the_owner_has_no_index(name: str) -> None:
    assert node_index("x", name) is None


def test_an_owner_whose_name_ends_like_a_nodes_is_told_apart() -> None:
    assert node_index("x-1", "x-1-0") == 0
    assert node_index("x", "x-1") == 1
    assert node_index("x-1", "x-1") is None


def test_an_owned_object_names_its_owner_as_the_one_in_control() -> None:
    reference = Owner(kind="Valkey", namespace="app", name="x", uid="u").reference()
    assert reference["controller"] is True
    assert (reference["apiVersion"], reference["kind"]) == ("valkey.io/v1alpha1", "Valkey")


def test_pods_of_one_shard_are_selected_by_less_than_all_its_labels_so_that_new_ones_can_come() -> None:
    labels = shard_labels("Valkey", "x", 2)
    assert pods_of(labels).items() < labels.items()
    assert pods_of(shard_labels("Valkey", "x", 1)) != pods_of(labels)
    assert pods_of(shard_labels("ValkeyCluster", "x", 2)) != pods_of(labels)


@pytest.mark.parametrize(("node", "place"), [("x-0-0", (0, 0)), ("x-12-3", (12, 3)), ("x-y-1-2", None)])
def test_shard_and_index_are_read_from_the_name_of_a_clusters_node(node: str, place: tuple[int, int] | None) -> None:
    assert cluster_place("x", node) == place


@pytest.mark.parametrize("node", ["x-0", "x", "x-0-", "x-00-1", "x-0-01", "y-0-0", "x-0-0-0", "x--1-0", "", "0-0"])
def test_a_name_that_is_no_nodes_of_the_cluster_has_no_place(node: str) -> None:
    assert cluster_place("x", node) is None


def test_a_shard_is_named_after_its_valkey_or_after_its_cluster_and_number() -> None:
    assert shard_name(shard_labels("Valkey", "x")) == "x"
    assert shard_name(shard_labels("ValkeyCluster", "x", 7)) == "x-7"
    assert cluster_place("x", node_name(shard_name(shard_labels("ValkeyCluster", "x", 7)), 2)) == (7, 2)


def test_a_record_decides_about_the_nodes_of_a_valkey_and_none_about_those_of_a_cluster() -> None:
    assert record_name(shard_labels("Valkey", "x")) == "x"
    assert record_name(shard_labels("ValkeyCluster", "x", 7)) is None


def test_the_labels_of_an_owner_select_the_pods_of_all_its_shards() -> None:
    everybody = pods_of(owner_labels("ValkeyCluster", "x"))
    assert all(everybody.items() <= pods_of(shard_labels("ValkeyCluster", "x", shard)).items() for shard in (0, 1))


def test_a_node_is_reached_by_its_own_service() -> None:
    assert node_host("x-0-1", "app") == "x-0-1.app.svc"
