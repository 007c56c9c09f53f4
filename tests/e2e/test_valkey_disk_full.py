"""A volume without a byte left: the status says so, and everything goes on by itself once there is space."""

from typing import Any

import pytest

from testbed.faults import DiskFull, broken
from testbed.layout import Layout
from tests.e2e.valkeys import Shop, valkey

pytestmark = pytest.mark.node_faults


def full_disk(shop: Shop, layout: Layout, node: str) -> DiskFull:
    return DiskFull.of(layout, f"{shop.namespace}/{node}-data")


def wait_for_reason(shop: Shop, reason: str) -> Any:
    def told() -> Any:
        status = shop.status()
        return status if status.get("reason") == reason else None

    return shop.cluster.wait_for(f"the status to say {reason}", told, shop.namespace)


def warnings_of(shop: Shop, reason: str) -> list[str]:
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return [each["message"] for each in found if (each["type"], each["reason"]) == ("Warning", reason)]


def test_a_primary_whose_disk_is_full_is_told_and_takes_writes_again_once_there_is_space(
    shop: Shop, layout: Layout
) -> None:
    shop.apply(valkey(replicas=2))
    shop.wait_for_state("Ready")
    shop.write(10)
    before = shop.uids()
    with broken(layout, full_disk(shop, layout, "cart-0")):
        shop.say("cart-0", "BGSAVE")
        status = wait_for_reason(shop, "CannotPersist")
        assert (status["state"], status["primary"]) == ("Degraded", "cart-0")
        assert "cart-0 cannot save its snapshot" in status["message"]
        assert "volume is full (cart-0-data): raise spec.persistence.size" in status["message"]
        assert shop.condition("PrimaryElected")["status"] == "False"
        assert "MISCONF" in shop.call("cart", "SET", "key:11", "11")
        shop.cluster.wait_for(
            "a warning", lambda: warnings_of(shop, "CannotPersist") == [status["message"]] or None, shop.namespace
        )
    shop.wait_for_state("Ready")
    assert shop.condition("PrimaryElected")["status"] == "True"
    shop.write(20)
    shop.wait_for_copies(20, "cart-0", "cart-1")
    assert shop.uids() == before


def test_a_replica_whose_disk_is_full_is_told_and_goes_on_following(shop: Shop, layout: Layout) -> None:
    shop.apply(valkey(replicas=2))
    shop.wait_for_state("Ready")
    before = shop.uids()
    with broken(layout, full_disk(shop, layout, "cart-1")):
        shop.say("cart-1", "BGSAVE")
        status = wait_for_reason(shop, "CannotPersist")
        assert "cart-1 cannot save its snapshot" in status["message"]
        assert "would refuse all writes as primary" in status["message"]
        shop.write(20)
        shop.wait_for_copies(20, "cart-0", "cart-1")
        assert wait_for_reason(shop, "CannotPersist")["state"] == "Degraded"
    shop.wait_for_state("Ready")
    restarts = [each["restartCount"] for each in shop.pod_of("cart-1")["status"]["containerStatuses"]]
    assert (shop.uids(), sum(restarts)) == (before, 0)
