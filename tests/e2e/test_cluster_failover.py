"""Servers and pods of a ValkeyCluster that are lost: who takes over, and that no key is."""

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.sharded import (
    check_that_all_agree,
    events,
    fill,
    open_cluster_shop,
    primaries,
    sharded,
    wait_for_keys,
    wait_until_well,
)
from tests.e2e.valkeys import Shop

AOF = {"aof": {"enabled": True, "fsync": "always"}}


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    return open_cluster_shop(cluster, namespace)


def wait_for_other_primary(shop: Shop, shard: int, former: str) -> str:
    def other() -> str | None:
        found = primaries(shop).get(shard)
        return found if found not in (former, None) else None

    return shop.cluster.wait_for(f"another primary than {former}", other, shop.namespace, deadline_s=30)


@pytest.mark.parametrize("persistence", [{"enabled": False}, AOF], ids=["no volume", "aof"])
def test_the_replica_of_a_primary_that_was_killed_takes_over_with_every_key(shop: Shop, persistence: object) -> None:
    shop.apply(sharded(persistence=persistence))
    wait_until_well(shop)
    shop.wait_for_service()
    fill(shop)

    shop.kill_server("cart-1-0")
    assert wait_for_other_primary(shop, 1, "cart-1-0") == "cart-1-1"
    wait_for_keys(shop)
    wait_until_well(shop)
    assert sorted(shop.say(node, "ROLE").split()[0] for node in ("cart-1-0", "cart-1-1")) == ["master", "slave"]
    check_that_all_agree(shop)
    assert "FailoverForced" in events(shop)


def test_all_pods_deleted_by_force_at_once_come_back_with_every_key(shop: Shop) -> None:
    shop.apply(sharded(persistence=AOF))
    wait_until_well(shop)
    shop.wait_for_service()
    fill(shop)
    before = shop.uids()

    selector = ("--selector=valkey.io/cluster=cart", f"--namespace={shop.namespace}")
    shop.cluster.kubectl("delete", "pods", *selector, "--grace-period=0", "--force", "--wait=false")

    def replaced() -> bool | None:
        present = shop.uids()
        is_whole = present.keys() == before.keys()
        return True if is_whole and not set(present.values()) & set(before.values()) else None

    shop.cluster.wait_for("six new pods", replaced, shop.namespace, deadline_s=60)
    wait_for_keys(shop)
    wait_until_well(shop)
    check_that_all_agree(shop)


def test_a_primary_whose_pod_is_deleted_hands_over_first(shop: Shop) -> None:
    shop.apply(sharded())
    wait_until_well(shop)
    shop.wait_for_service()
    fill(shop)

    shop.delete_pod("cart-0-0")
    assert wait_for_other_primary(shop, 0, "cart-0-0") == "cart-0-1"
    wait_until_well(shop)
    wait_for_keys(shop)
    assert "HandoverStarted" in events(shop)


def test_a_node_that_lost_its_volume_comes_back_as_a_replica(shop: Shop) -> None:
    shop.apply(sharded(persistence=AOF))
    wait_until_well(shop)
    shop.wait_for_service()
    fill(shop)

    place = f"--namespace={shop.namespace}"
    shop.cluster.kubectl("delete", "pvc", "cart-2-0-data", place, "--wait=false")
    shop.delete_pod("cart-2-0", force=True)
    wait_for_other_primary(shop, 2, "cart-2-0")
    wait_until_well(shop)
    wait_for_keys(shop)
    check_that_all_agree(shop)
