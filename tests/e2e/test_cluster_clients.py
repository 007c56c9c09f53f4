"""The client libraries that users have work with a ValkeyCluster, and go on while it changes."""

from pathlib import Path

import pytest

from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.inside import inside
from tests.e2e.sharded import open_cluster_shop, primaries, sharded, wait_until_well
from tests.e2e.valkeys import Shop

CHANGED_WITHIN_S = 240


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    return open_cluster_shop(cluster, namespace)


@pytest.mark.parametrize("library", ["valkey-py", "glide"])
def test_a_client_goes_on_while_a_primary_hands_over_and_a_shard_is_added(
    shop: Shop, layout: Layout, tmp_path: Path, library: str
) -> None:
    shop.apply(sharded())
    wait_until_well(shop)
    shop.wait_for_service()
    client = (layout, tmp_path, shop.namespace, "tests.e2e.clients.write", library, "cart")
    with inside(*client, PASSWORD=shop.password()) as writer:
        writer.wait_until_under_way()
        shop.delete_pod("cart-0-0")
        shop.cluster.wait_for(
            "cart-0-1 to be primary", lambda: primaries(shop)[0] == "cart-0-1" or None, shop.namespace
        )
        shop.patch("cart", {"shards": 4})
        wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
        told = writer.end()
    assert told["written"] > 100, told
    assert told["lost"] == [], told
