"""A user names the primary: it is met once, told where it cannot be, and clients are moved at once."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import CLIENT, Shop, valkey

pytestmark = pytest.mark.timeout(600)

AOF = {"aof": {"enabled": True, "fsync": "always"}}
WISH = "valkey.io/primary"
# One connection, which valkey-cli opens anew only after it was closed; in the client's pod.
_SAID, _STOP = "/data/said", "/data/stop-talking"
_TALK = f"""
rm -f {_STOP} {_SAID}
while [ ! -e {_STOP} ]; do echo "SET talk $(date +%s%N)"; sleep 0.1; done |
  valkey-cli -h cart -a "$0" --no-auth-warning > {_SAID} 2>&1
"""


def wish_for(shop: Shop, node: str | None) -> None:
    note = f"{WISH}-" if node is None else f"{WISH}={node}"
    shop.cluster.kubectl("annotate", "valkey", "cart", f"--namespace={shop.namespace}", "--overwrite", note)


def wait_for_primary(shop: Shop, node: str) -> Any:
    def is_primary() -> Any:
        status = shop.status()
        return status if status.get("primary") == node else None

    return shop.cluster.wait_for(f"{node} to be primary", is_primary, shop.namespace)


def wait_for_record(shop: Shop, met: str | None) -> None:
    def remembered() -> bool | None:
        return True if shop.get("valkeyshard", "cart")["spec"].get("wishMet") == met else None

    shop.cluster.wait_for(f"the record to say that {met} was met", remembered, shop.namespace)


def wait_for_event(shop: Shop, reason: str, words: str) -> None:
    def told() -> bool | None:
        found = shop.cluster.get("events", namespace=shop.namespace)["items"]
        return True if any(each["reason"] == reason and words in each["message"] for each in found) else None

    shop.cluster.wait_for(f"an event {reason} that says {words!r}", told, shop.namespace)


def test_a_wish_is_met_without_a_restart_or_a_lost_write_and_does_not_fight_a_failover(shop: Shop) -> None:
    shop.apply(valkey(replicas=3, persistence=AOF))
    shop.wait_for_state("Ready")
    running = shop.uids()
    with steady_writes(shop):
        wish_for(shop, "cart-2")
        wait_for_primary(shop, "cart-2")
        shop.wait_for_state("Ready")
    assert shop.uids() == running
    wait_for_event(shop, "SwitchoverDone", "cart-2 is primary now")

    shop.kill_server("cart-2")

    def another() -> str | None:
        primary: str | None = shop.status().get("primary")
        return primary if primary not in (None, "cart-2") else None

    heir = shop.cluster.wait_for("another primary", another, shop.namespace)
    assert shop.wait_for_state("Ready")["primary"] == heir, "the wish was met, and is none any more"

    with steady_writes(shop):
        wish_for(shop, None)
        wait_for_record(shop, None)
        wish_for(shop, "cart-2")
        wait_for_primary(shop, "cart-2")


def test_a_wish_that_cannot_be_met_is_told_with_the_remedy_and_met_as_soon_as_it_can_be(shop: Shop) -> None:
    shop.apply(valkey(replicas=1))
    shop.wait_for_state("Ready")
    shop.write(1000)
    wish_for(shop, "cart-1")
    found = shop.wait_for_condition("WishOpen", "True", reason="NoSuchNode")
    assert "there is no such node. Name one of cart-0" in found["message"]
    wait_for_event(shop, "NoSuchNode", "Name one of cart-0")
    assert shop.status()["state"] == "Ready", "nothing is wrong with the Valkey"

    # The primary lets the new replica wait for others before it begins the copy.
    assert shop.say("cart-0", "CONFIG", "SET", "repl-diskless-sync-delay", "10") == "OK"
    shop.scale(2)
    shop.wait_for_condition("WishOpen", "True", reason="NotInSync")
    wait_for_primary(shop, "cart-1")
    shop.wait_for_state("Ready")
    assert shop.condition("WishOpen") is None
    assert shop.count("cart-1") == 1000


def test_a_wish_for_the_present_primary_is_told_to_be_met(shop: Shop) -> None:
    shop.apply(valkey(replicas=1))
    shop.wait_for_state("Ready")
    wish_for(shop, "cart-0")
    wait_for_event(shop, "WishMet", "cart-0 is primary")
    wait_for_record(shop, "cart-0")
    assert shop.get("valkeyshard", "cart")["spec"]["epoch"] == 1


@contextlib.contextmanager
def one_connection_talks(shop: Shop) -> Iterator[None]:
    """A client writes over one connection for as long as that lives."""
    begin = f"nohup bash -c '{_TALK}' \"$0\" > /dev/null 2>&1 &"
    shop.cluster.say_in(shop.namespace, CLIENT, "bash", "-c", begin, shop.password())
    try:
        yield
    finally:
        shop.cluster.run_in(shop.namespace, CLIENT, "touch", _STOP)


def said(shop: Shop) -> list[str]:
    return shop.cluster.run_in(shop.namespace, CLIENT, "cat", _SAID).stdout.splitlines()


def test_a_client_that_is_connected_to_the_old_primary_soon_writes_to_the_new_one(shop: Shop) -> None:
    shop.apply(valkey(replicas=2, persistence=AOF))
    shop.wait_for_state("Ready")
    with one_connection_talks(shop):
        shop.cluster.wait_for("writes", lambda: True if said(shop).count("OK") > 3 else None, shop.namespace)
        wish_for(shop, "cart-1")
        wait_for_primary(shop, "cart-1")
        before = len(said(shop))

        def goes_on() -> bool | None:
            return True if said(shop)[before:].count("OK") > 3 else None

        shop.cluster.wait_for("writes of the same client to the new primary", goes_on, shop.namespace, deadline_s=20)
    assert shop.say("cart-1", "EXISTS", "talk") == "1"
