"""What hands and accidents do to the servers of a ValkeyCluster is mended, and no key is lost by it."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import container, pod
from tests.e2e.sharded import (
    check_that_all_agree,
    count_keys,
    fill,
    open_cluster_shop,
    primaries,
    sharded,
    wait_for_keys,
    wait_until_well,
)
from tests.e2e.valkeys import Shop

MENDED_WITHIN_S = 90
HOMES = {0: "cart-0-0", 1: "cart-1-0", 2: "cart-2-0"}


@pytest.fixture(scope="module")
def shop(cluster: Cluster) -> Iterator[Shop]:
    """One cluster for all tests here: each leaves it whole again."""
    with cluster.namespace("healing") as namespace:
        shop = open_cluster_shop(cluster, namespace)
        shop.apply(sharded())
        wait_until_well(shop)
        shop.wait_for_service()
        fill(shop)
        yield shop


def id_of(shop: Shop, node: str) -> str:
    return shop.say(node, "CLUSTER", "MYID")


def own_line(shop: Shop, node: str) -> str:
    """What a server says of itself in CLUSTER NODES."""
    lines = shop.say(node, "CLUSTER", "NODES").splitlines()
    return next(line for line in lines if "myself" in line)


def test_a_replica_that_was_given_to_another_shard_comes_back(shop: Shop) -> None:
    home, stranger = id_of(shop, "cart-1-0"), id_of(shop, "cart-0-0")
    shop.say("cart-1-1", "CLUSTER", "REPLICATE", stranger)

    def is_back() -> bool | None:
        return True if home in own_line(shop, "cart-1-1") else None

    shop.cluster.wait_for("cart-1-1 to follow cart-1-0 again", is_back, shop.namespace, deadline_s=MENDED_WITHIN_S)
    wait_until_well(shop)
    assert count_keys(shop) == 500


def test_a_slot_that_was_left_open_on_both_sides_is_closed_and_keeps_its_owner(shop: Shop) -> None:
    owner, other = id_of(shop, "cart-0-0"), id_of(shop, "cart-1-0")
    shop.say("cart-1-0", "CLUSTER", "SETSLOT", "100", "IMPORTING", owner)
    shop.say("cart-0-0", "CLUSTER", "SETSLOT", "100", "MIGRATING", other)

    def is_closed() -> bool | None:
        return None if "[" in own_line(shop, "cart-0-0") + own_line(shop, "cart-1-0") else True

    shop.cluster.wait_for("slot 100 to be closed", is_closed, shop.namespace, deadline_s=MENDED_WITHIN_S)
    wait_until_well(shop)
    check_that_all_agree(shop)
    assert count_keys(shop) == 500


def test_a_server_of_somebody_else_that_joined_is_forgotten_by_all(shop: Shop) -> None:
    command = ["valkey-server", "--protected-mode", "no", "--save", "", "--cluster-enabled", "yes"]
    shop.apply(pod("stray", containers=[container(command=command)]))
    shop.cluster.wait_for(
        "the stray server to have an address",
        lambda: shop.get("pod", "stray")["status"].get("podIP"),
        shop.namespace,
    )
    address = shop.get("pod", "stray")["status"]["podIP"]

    def knows(node: str) -> bool:
        return address in shop.say(node, "CLUSTER", "NODES")

    def is_met() -> bool | None:
        shop.say("cart-0-0", "CLUSTER", "MEET", address, "6379")
        return True if knows("cart-0-0") else None

    shop.cluster.wait_for("cart-0-0 to know the stray server", is_met, shop.namespace)
    shop.cluster.wait_for(
        "everybody to have forgotten it",
        lambda: None if any(knows(node) for node in shop.pods()) else True,
        shop.namespace,
        deadline_s=MENDED_WITHIN_S,
    )
    wait_until_well(shop)
    assert count_keys(shop) == 500


@pytest.mark.usefixtures("layout")
def test_a_primary_moves_back_to_its_zone_after_a_failover(shop: Shop) -> None:
    shop.kill_server("cart-2-0")
    shop.cluster.wait_for(
        "cart-2-1 to take over",
        lambda: True if primaries(shop)[2] == "cart-2-1" else None,
        shop.namespace,
    )
    shop.cluster.wait_for(
        "every primary to be at home",
        lambda: True if primaries(shop) == HOMES else None,
        shop.namespace,
        deadline_s=MENDED_WITHIN_S,
    )
    wait_until_well(shop)
    assert count_keys(shop) == 500


def test_a_number_of_shards_that_is_taken_back_while_slots_move_is_reached(shop: Shop) -> None:
    shop.patch("cart", {"shards": 5})
    shop.cluster.wait_for(
        "a new shard to have slots",
        lambda: True if any(each["shardIndex"] > 2 and each.get("slots") for each in shop.status()["shards"]) else None,
        shop.namespace,
        deadline_s=MENDED_WITHIN_S,
    )
    shop.patch("cart", {"shards": 3})

    def is_back() -> bool | None:
        return (
            True
            if sorted(shop.pods()) == [f"cart-{shard}-{index}" for shard in range(3) for index in range(2)]
            else None
        )

    shop.cluster.wait_for("the new shards to be gone", is_back, shop.namespace, deadline_s=2 * MENDED_WITHIN_S)
    wait_until_well(shop)
    check_that_all_agree(shop)
    wait_for_keys(shop)
