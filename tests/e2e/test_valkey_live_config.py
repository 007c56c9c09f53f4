"""Directives that change while servers run: set on every node without a restart, kept, set back, refused, healed."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.steady_writer import refused, steady_writes
from tests.e2e.valkeys import Shop, open_shop, valkey

NODES = ("cart-0", "cart-1", "cart-2")
FIRST = {"maxmemory": "100mb", "timeout": 0}
MB = 1 << 20


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    """Three nodes, for the tests of this module to change; each leaves them Ready."""
    with cluster.namespace("live") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(valkey(replicas=3, config=FIRST))
        shop.wait_for_state("Ready")
        yield shop


def lives(shop: Shop) -> dict[str, tuple[str, int]]:
    """Each node's pod, and how often its server was started."""
    return {
        node: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
        for node, pod in shop.pods().items()
    }


def wait_for_directives(shop: Shop, expected: dict[str, str], *nodes: str, deadline_s: float = 60) -> None:
    """Wait until the running servers say these."""

    def said() -> bool | None:
        try:
            found = [shop.directives(node, *expected) for node in nodes or NODES]
        except (AssertionError, StopIteration):
            return None  # a server that was just killed does not answer
        return True if all(each == expected for each in found) else None

    shop.cluster.wait_for(f"{expected} on {nodes or NODES}", said, shop.namespace, deadline_s=deadline_s)


def written(shop: Shop, node: str) -> list[str]:
    """What the server of a node reads at its next start."""
    lines: list[str] = shop.get("configmap", f"{node}-config")["data"]["valkey.conf"].splitlines()
    return lines


def wait_until_written(shop: Shop, line: str) -> None:
    def holds() -> bool | None:
        return True if all(line in written(shop, node) for node in NODES) else None

    shop.cluster.wait_for(f"{line!r} to be written down", holds, shop.namespace)


def events(shop: Shop, reason: str) -> list[str]:
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return [each["message"] for each in found if each["reason"] == reason]


def wait_for_event(shop: Shop, reason: str, part: str) -> None:
    def told() -> bool | None:
        return True if any(part in message for message in events(shop, reason)) else None

    shop.cluster.wait_for(f"an event {reason} with {part!r}", told, shop.namespace)


def test_a_change_reaches_every_running_server_without_a_restart_and_no_write_fails(cart: Shop) -> None:
    before = lives(cart)
    with steady_writes(cart):
        cart.patch(
            "cart",
            {
                "config": {"maxmemory": "200mb", "maxmemory-policy": "volatile-lru", "slowlog-max-len": 77},
                "persistence": {"rdb": {"savePolicy": [{"seconds": 77, "changes": 7}]}, "aof": {"fsync": "no"}},
                "replication": {"backlogSize": "3mb", "minReplicasToWrite": 1},
            },
        )
        expected = {
            "maxmemory": str(200 * MB),
            "maxmemory-policy": "volatile-lru",
            "slowlog-max-len": "77",
            "save": "77 7",
            "appendfsync": "no",
            "repl-backlog-size": str(3 * MB),
        }
        wait_for_directives(cart, expected)
        primary = cart.status()["primary"]
        assert cart.directives(primary, "min-replicas-to-write") == {"min-replicas-to-write": "1"}
        cart.wait_for_state("Ready")
    assert refused(cart) == []
    assert lives(cart) == before
    wait_for_event(cart, "SettingsChanged", "maxmemory, maxmemory-policy")


def test_what_was_set_live_is_there_after_a_pod_was_deleted(cart: Shop) -> None:
    cart.patch("cart", {"config": {"maxmemory": "150mb"}})
    wait_until_written(cart, "maxmemory 150mb")
    before = cart.uids()
    cart.delete_pod("cart-2")

    def replaced() -> bool | None:
        return True if cart.uids().get("cart-2") not in (None, before["cart-2"]) else None

    cart.cluster.wait_for("another pod", replaced, cart.namespace)
    cart.wait_for_state("Ready")
    wait_for_directives(cart, {"maxmemory": str(150 * MB)})


def test_a_server_that_restarts_before_its_file_has_changed_is_told_again(cart: Shop) -> None:
    before = cart.uids()
    cart.patch("cart", {"config": {"maxmemory": "160mb"}})
    wait_for_directives(cart, {"maxmemory": str(160 * MB)}, "cart-2")
    # The file in the pod is up to a minute older than the one that was written.
    cart.kill_server("cart-2")
    cart.cluster.wait_for(
        "the server to be started again",
        lambda: True if lives(cart)["cart-2"][1] > 0 else None,
        cart.namespace,
    )
    wait_for_directives(cart, {"maxmemory": str(160 * MB)})
    cart.wait_for_state("Ready")
    assert cart.uids() == before


def test_a_directive_that_is_taken_out_goes_back_to_what_it_would_be_without_a_restart(cart: Shop) -> None:
    cart.patch("cart", {"config": {"maxmemory-policy": "allkeys-lfu", "hz": 1000, "repl-diskless-sync-delay": 3}})
    wait_for_directives(cart, {"maxmemory-policy": "allkeys-lfu", "hz": "500", "repl-diskless-sync-delay": "3"})
    wait_for_event(cart, "SettingMadeOtherwise", "spec.config.hz is 1000: cart-0 has made 500 of it")
    wait_until_written(cart, "hz 1000")
    before = lives(cart)

    cart.patch("cart", {"config": None})
    # The server's own values, and the operator's where it has one.
    defaults = {"maxmemory": "0", "maxmemory-policy": "noeviction", "hz": "10", "repl-diskless-sync-delay": "0"}
    wait_for_directives(cart, defaults)
    cart.wait_for_state("Ready")
    assert lives(cart) == before
    assert not any(line.startswith("maxmemory") for line in written(cart, "cart-0"))


def test_a_value_that_servers_refuse_is_told_while_all_runs_on_and_correcting_it_heals(cart: Shop) -> None:
    cart.patch("cart", {"config": {"maxmemory": "120mb"}})
    wait_until_written(cart, "maxmemory 120mb")
    cart.wait_for_state("Ready")
    before = lives(cart)
    # With a directive that needs a restart: no pod is to be restarted into what a server has refused.
    cart.patch("cart", {"config": {"maxmemory": "lots", "databases": 17, "hz": 12}})

    condition = cart.wait_for_condition("SpecValid", "False")
    assert "spec.config.maxmemory is 'lots'" in condition["message"]
    assert "argument must be a memory value" in condition["message"]
    assert cart.wait_for_state("Degraded")["reason"] == "InvalidSpec"
    wait_for_event(cart, "InvalidSpec", "spec.config.maxmemory is 'lots'")
    assert cart.call("cart", "SET", "still", "here") == "OK"
    wait_for_directives(cart, {"maxmemory": str(120 * MB), "hz": "10", "databases": "16"})
    assert lives(cart) == before
    assert "maxmemory 120mb" in written(cart, "cart-0")

    # Whoever restarts meanwhile comes back with what was there before.
    cart.kill_server("cart-1")
    cart.cluster.wait_for(
        "the server to be started again",
        lambda: True if lives(cart)["cart-1"][1] > before["cart-1"][1] else None,
        cart.namespace,
    )
    wait_for_directives(cart, {"maxmemory": str(120 * MB)})

    cart.patch("cart", {"config": {"maxmemory": "130mb", "databases": None}})
    cart.wait_for_state("Ready")
    cart.wait_for_condition("SpecValid", "True")
    wait_for_directives(cart, {"maxmemory": str(130 * MB), "hz": "12"})
    assert cart.uids() == {node: uid for node, (uid, _) in before.items()}


def test_a_directive_that_needs_a_restart_rolls_the_pods_and_brings_the_others_along(cart: Shop) -> None:
    before = cart.uids()
    cart.patch("cart", {"config": {"databases": 20, "maxmemory": "140mb", "timeout": 33}})
    # What can be taken live is, by all of them, before the first one goes.
    wait_for_event(cart, "SettingsChanged", "cart-0, cart-1, cart-2 took without a restart: maxmemory, timeout")

    def rolled() -> bool | None:
        uids = cart.uids()
        all_new = uids.keys() == before.keys() and not set(uids.values()) & set(before.values())
        return True if all_new and cart.status().get("state") == "Ready" else None

    cart.cluster.wait_for("every pod to be replaced", rolled, cart.namespace, deadline_s=180)
    wait_for_directives(cart, {"databases": "20", "maxmemory": str(140 * MB), "timeout": "33"})


def test_the_append_only_file_goes_on_and_off_without_a_restart_and_nothing_is_lost(shop: Shop) -> None:
    shop.apply(valkey())
    shop.wait_for_state("Ready")
    shop.write(100)
    before = shop.uids()
    for enabled, said in ((True, "yes"), (False, "no")):
        shop.patch("cart", {"persistence": {"aof": {"enabled": enabled}}})
        wait_for_directives(shop, {"appendonly": said}, "cart-0")
        shop.wait_for_state("Ready")
        wait_until_on_disk(shop, "appendonlydir/appendonly.aof.manifest" if enabled else "dump.rdb")
        shop.kill_server("cart-0")
        shop.wait_for_copies(100, "cart-0")
        wait_for_directives(shop, {"appendonly": said}, "cart-0")
    assert shop.uids() == before


def test_an_append_only_file_that_is_switched_on_while_nothing_runs_loses_nothing(shop: Shop) -> None:
    shop.apply(valkey())
    shop.wait_for_state("Ready")
    shop.write(100)
    shop.scale(0)
    shop.wait_for_state("Suspended")
    shop.patch("cart", {"persistence": {"aof": {"enabled": True}}, "replicas": 1})
    shop.wait_for_state("Ready")
    shop.wait_for_copies(100, "cart-0")
    wait_for_directives(shop, {"appendonly": "yes"}, "cart-0")


def wait_until_on_disk(shop: Shop, file: str) -> None:
    pod: Any = shop.pod_of("cart-0")["metadata"]["name"]

    def there() -> bool | None:
        place = (f"--namespace={shop.namespace}", pod, "--container=valkey", "--")
        found = shop.cluster.try_kubectl("exec", *place, "test", "-s", f"/data/{file}")
        return True if found.returncode == 0 else None

    shop.cluster.wait_for(f"{file} to be written", there, shop.namespace)
