import pytest

from valkey_operator.core.names import Owner, node_index, pods_of, shard_labels


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
