"""A ValkeyCluster is changed while clients write: shards and replicas come and go, pods are replaced, it sleeps."""

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.sharded import (
    annotate,
    check_that_all_agree,
    events,
    fill,
    open_cluster_shop,
    sharded,
    wait_for_keys,
    wait_until_well,
)
from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import Shop

CHANGED_WITHIN_S = 240


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    return open_cluster_shop(cluster, namespace)


def open_filled(shop: Shop, *, shards: int = 3, replicas: int = 2) -> None:
    shop.apply(sharded(shards=shards, replicas=replicas))
    wait_until_well(shop)
    shop.wait_for_service()
    fill(shop)


def test_shards_come_and_go_while_a_client_writes(shop: Shop) -> None:
    open_filled(shop)
    with steady_writes(shop, clustered=True):
        shop.patch("cart", {"shards": 4})
        status = wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
        assert len(status["shards"]) == 4
        check_that_all_agree(shop)
        wait_for_keys(shop)

        shop.patch("cart", {"shards": 3})
        status = wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
        assert [each["shardIndex"] for each in status["shards"]] == [0, 1, 2]
        assert not shop.exists("valkeynode", "cart-3-0")
        check_that_all_agree(shop)
    wait_for_keys(shop)
    claim = shop.get("pvc", "cart-3-0-data")
    assert claim["metadata"]["annotations"]["valkey.io/emptied"] == "true"


def test_replicas_come_and_go_and_a_primary_hands_over_before_it_does(shop: Shop) -> None:
    open_filled(shop)
    shop.kill_server("cart-0-0")
    shop.cluster.wait_for(
        "cart-0-1 to be primary",
        lambda: True if shop.status()["shards"][0].get("primary") == "cart-0-1" else None,
        shop.namespace,
    )
    wait_until_well(shop)
    with steady_writes(shop, clustered=True):
        shop.patch("cart", {"replicas": 1})
        status = wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
        assert [each["primary"] for each in status["shards"]] == ["cart-0-0", "cart-1-0", "cart-2-0"]
        assert sorted(shop.pods()) == ["cart-0-0", "cart-1-0", "cart-2-0"]
        shop.patch("cart", {"replicas": 2})
        assert wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)["readyReplicas"] == 6
    wait_for_keys(shop)


def test_suspended_it_keeps_its_volumes_and_resumes_with_its_slots_and_keys(shop: Shop) -> None:
    open_filled(shop)
    shop.patch("cart", {"replicas": 0})
    shop.wait_for_state("Suspended", deadline_s=CHANGED_WITHIN_S)
    assert shop.pods() == {}
    assert shop.exists("pvc", "cart-1-0-data")

    shop.patch("cart", {"replicas": 2, "shards": 4})
    shop.wait_for_condition("SpecValid", "False", reason="InvalidSpec")
    shop.patch("cart", {"shards": 3})
    wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
    wait_for_keys(shop)
    assert {"ClusterSuspended", "ClusterResumed"} <= events(shop)


def test_pods_are_replaced_while_a_client_writes(shop: Shop) -> None:
    open_filled(shop)
    before = shop.uids()
    with steady_writes(shop, clustered=True):
        shop.patch("cart", {"annotations": {"example.com/roll": "1"}})

        def replaced() -> bool | None:
            present = shop.uids()
            return True if len(present) == 6 and not set(present.values()) & set(before.values()) else None

        shop.cluster.wait_for("every pod to be replaced", replaced, shop.namespace, deadline_s=CHANGED_WITHIN_S)
        wait_until_well(shop, deadline_s=CHANGED_WITHIN_S)
    wait_for_keys(shop)
    check_that_all_agree(shop)


def test_a_directive_that_running_servers_take_restarts_nobody(shop: Shop) -> None:
    open_filled(shop)
    before = shop.uids()
    shop.patch("cart", {"config": {"maxmemory-policy": "allkeys-lru"}})
    wait_until_well(shop)
    for node in shop.pods():
        assert shop.directives(node, "maxmemory-policy") == {"maxmemory-policy": "allkeys-lru"}
    assert shop.uids() == before


def test_unbound_it_runs_on_and_is_taken_up_again_without_a_restart(shop: Shop) -> None:
    open_filled(shop)
    before = shop.uids()
    annotate(shop, "valkey.io/unbind=true")
    shop.cluster.wait_for(
        "the cluster to be unbound",
        lambda: True if shop.status().get("state") == "Unbound" else None,
        shop.namespace,
    )
    assert "ownerReferences" not in shop.get("valkeynode", "cart-0-0")["metadata"]
    wait_for_keys(shop)
    annotate(shop, "valkey.io/unbind-")
    wait_until_well(shop)
    assert shop.uids() == before


def test_its_record_deleted_by_hand_comes_back_and_nothing_happens(shop: Shop) -> None:
    open_filled(shop)
    before = shop.uids()
    shop.cluster.kubectl("delete", "valkeyshard", "cart", f"--namespace={shop.namespace}")
    shop.cluster.wait_for(
        "the record to be there again",
        lambda: True if shop.exists("valkeyshard", "cart") else None,
        shop.namespace,
    )
    wait_until_well(shop)
    assert shop.uids() == before
    wait_for_keys(shop)


def test_a_new_cluster_takes_up_the_volumes_that_one_of_its_name_has_left(shop: Shop) -> None:
    open_filled(shop)
    shop.cluster.kubectl("delete", "valkeycluster", "cart", f"--namespace={shop.namespace}")
    shop.cluster.wait_for("the pods to be gone", lambda: True if not shop.pods() else None, shop.namespace)
    shop.apply(sharded())
    wait_until_well(shop)
    shop.wait_for_service()
    wait_for_keys(shop)
