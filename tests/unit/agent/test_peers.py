"""Who belongs together, by the names in certificates."""

import pytest

from valkey_operator.agent.peers import are_of_one_shard, is_of_cluster
from valkey_operator.wire.identity import node_identity


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("cart-0-1", True),
        ("cart-12-0", True),
        ("cart-0", False),
        ("cart-0-1-2", False),
        ("cart-x-1", False),
        ("cart-eu-0-1", False),
        ("scart-0-1", False),
        ("", False),
    ],
)
def test_nodes_of_one_cluster_have_its_name_and_two_numbers(node: str, expected: bool) -> None:
    assert is_of_cluster("cart", node) is expected


def test_nodes_of_one_shard_differ_in_their_last_number_alone() -> None:
    own = node_identity("shop", "cart-0")
    assert are_of_one_shard(node_identity("shop", "cart-7"), own)
    assert not are_of_one_shard(node_identity("shop", "cart-0-1"), own)
    assert not are_of_one_shard(node_identity("attic", "cart-7"), own)
