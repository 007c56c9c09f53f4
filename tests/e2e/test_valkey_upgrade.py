"""Another version of Valkey: rolled under load where the data can be read, refused beforehand where they cannot."""

from typing import Any

import pytest

from testbed.images.catalogue import VALKEY_VERSIONS
from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import Shop, valkey

pytestmark = pytest.mark.timeout(900)

AOF = {"aof": {"enabled": True, "fsync": "always"}}
OLDEST, OLD, NEW = VALKEY_VERSIONS
ROLLED_WITHIN_S = 300


def image(version: str) -> str:
    return f"valkey/valkey:{version}"


def with_version(version: str, **spec: Any) -> Any:
    found = valkey(**spec)
    found["spec"]["image"] = image(version)
    return found


def change_to(shop: Shop, version: str) -> None:
    """Set the image, and wait until all servers are of it."""
    before = set(shop.uids().values())
    shop.patch("cart", {"image": image(version)})

    def rolled() -> bool | None:
        status = shop.status()
        new = status.get("state") == "Ready" and not before & set(shop.uids().values())
        return True if new and status.get("version", "").startswith(f"{version}.") else None

    shop.cluster.wait_for(f"all servers to be {version}", rolled, shop.namespace, deadline_s=ROLLED_WITHIN_S)


def events(shop: Shop, reason: str) -> list[str]:
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return [event["message"] for event in found if event["reason"] == reason]


@pytest.mark.parametrize("persistence", [AOF, {}], ids=["aof", "rdb"])
def test_it_goes_from_version_to_version_and_no_acknowledged_write_is_lost(shop: Shop, persistence: Any) -> None:
    shop.apply(with_version(OLDEST, replicas=2, persistence=persistence))
    shop.wait_for_state("Ready")
    shop.write(300)
    for version in (OLD, OLDEST, OLD, NEW):
        with steady_writes(shop):
            change_to(shop, version)
        assert {shop.count(node) for node in shop.pods()} == {300}


def test_a_version_that_cannot_read_the_data_is_refused_and_nothing_is_touched(shop: Shop) -> None:
    shop.apply(with_version(NEW, replicas=2, persistence=AOF))
    shop.wait_for_state("Ready")
    running = shop.uids()
    with steady_writes(shop):
        shop.patch("cart", {"image": image(OLD)})
        status = shop.wait_for_state("Degraded")
    assert status["reason"] == "InvalidSpec"
    assert f'spec.image is "{image(OLD)}": the servers run {NEW}' in status["message"]
    assert "set an image of 9.x or newer" in status["message"]
    assert shop.uids() == running
    shop.patch("cart", {"image": image(NEW)})
    shop.wait_for_state("Ready")
    assert shop.uids() == running


def test_it_is_refused_also_while_no_server_runs(shop: Shop) -> None:
    shop.apply(with_version(NEW, replicas=1, persistence=AOF))
    shop.wait_for_state("Ready")
    shop.write(10)
    shop.scale(0)
    assert shop.wait_for_state("Suspended")["version"].startswith(NEW)
    shop.patch("cart", {"image": image(OLD), "replicas": 1})
    assert shop.wait_for_state("Failed")["reason"] == "InvalidSpec"
    assert shop.pods() == {}
    shop.patch("cart", {"image": image(NEW)})
    shop.wait_for_state("Ready")
    assert shop.count("cart-0") == 10


def test_an_upgrade_that_has_begun_is_not_taken_back_but_ended(shop: Shop) -> None:
    """The node that ran the newer version has its files, though the primary is of the older one."""
    shop.apply(with_version(OLD, replicas=3, persistence=AOF))
    shop.wait_for_state("Ready")
    with steady_writes(shop):
        shop.patch("cart", {"image": image(NEW)})

        def one_is_new() -> bool | None:
            versions = [shop.get("valkeynode", node).get("status", {}).get("version") or "" for node in shop.pods()]
            return True if any(version.startswith(NEW) for version in versions) else None

        shop.cluster.wait_for("a node of the newer version", one_is_new, shop.namespace, deadline_s=ROLLED_WITHIN_S)
        shop.patch("cart", {"image": image(OLD)})
        assert shop.wait_for_state("Degraded")["reason"] == "InvalidSpec"
        shop.patch("cart", {"image": image(NEW)})
        assert shop.wait_for_state("Ready", deadline_s=ROLLED_WITHIN_S)["version"].startswith(NEW)


def test_a_tag_without_a_version_is_let_through_and_told_what_is_known(shop: Shop) -> None:
    shop.apply(with_version(NEW, replicas=2))
    shop.wait_for_state("Ready")
    shop.patch("cart", {"image": "valkey/valkey:no-such-version"})

    def warned() -> bool | None:
        return True if any("its tag names no version" in each for each in events(shop, "SeldomMeant")) else None

    shop.cluster.wait_for("a warning about the tag", warned, shop.namespace)
    shop.patch("cart", {"image": image(NEW)})
    shop.wait_for_state("Ready", deadline_s=ROLLED_WITHIN_S)


def test_a_restart_that_stops_writes_is_told_before(shop: Shop) -> None:
    shop.apply(valkey(replicas=1, persistence=AOF))
    shop.wait_for_state("Ready")
    shop.write(10)
    uid = shop.uids()["cart-0"]
    shop.patch("cart", {"labels": {"round": "two"}})

    def replaced() -> bool | None:
        return True if shop.uids().get("cart-0") not in (uid, None) else None

    shop.cluster.wait_for("the pod to be replaced", replaced, shop.namespace, deadline_s=120)
    [told] = events(shop, "LastCopyRestarts")
    assert told.startswith("cart-0 is restarted for the new spec, and no other node could take over: writes stop")
    shop.wait_for_state("Ready")
    assert shop.condition("WritesStop") is None
    assert shop.count("cart-0") == 10
