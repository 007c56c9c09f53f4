"""A user takes objects out of the operator's hands, single ones or all of a Valkey, and gives them back."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.objects import KINDS, is_kept
from tests.e2e.valkeys import Shop, open_shop, valkey

MARK = "valkey.io/cr"
LOOKED_AT_S = 3


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    with cluster.namespace("unbound") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(valkey(replicas=2, readService={"enabled": True}))
        shop.wait_for_state("Ready")
        shop.write(20)
        yield shop


def annotate(shop: Shop, kind: str, name: str, note: str) -> None:
    shop.cluster.kubectl("annotate", kind, name, f"--namespace={shop.namespace}", "--overwrite", note)


def edit(shop: Shop, kind: str, name: str, **spec: Any) -> None:
    body = json.dumps({"spec": spec})
    shop.cluster.kubectl("patch", kind, name, f"--namespace={shop.namespace}", "--type=merge", f"--patch={body}")


def uids(shop: Shop) -> dict[str, str]:
    return {node: shop.pod_of(node)["metadata"]["uid"] for node in ("cart-0", "cart-1")}


def owners(shop: Shop, kind: str, name: str) -> list[str]:
    return [owner["name"] for owner in shop.get(kind, name)["metadata"].get("ownerReferences", [])]


def wait_for_owners(shop: Shop, kind: str, name: str, wanted: list[str]) -> None:
    shop.cluster.wait_for(
        f"{kind} {name} to belong to {wanted}",
        lambda: True if owners(shop, kind, name) == wanted else None,
        shop.namespace,
    )


def poke(shop: Shop) -> None:
    """Have the operator look at everything, and give it time to do something wrong."""
    annotate(shop, "valkey", "cart", f"looked-at={time.monotonic_ns()}")
    time.sleep(LOOKED_AT_S)


SINGLE = [
    ("service", "cart-read", {"selector": {"mine": "yes"}}, ["cart"]),
    ("service", "cart-1", {"publishNotReadyAddresses": False}, ["cart-1"]),
    ("statefulset", "cart-1", {"revisionHistoryLimit": 7}, ["cart-1"]),
    ("pdb", "cart", {"minAvailable": 0}, ["cart"]),
    ("valkeynode", "cart-1", {"valkeyConfig": {"directives": {"mine": ["yes"]}}}, ["cart"]),
]


@pytest.mark.parametrize(("kind", "name", "change", "owner"), SINGLE, ids=[f"{each[0]}-{each[1]}" for each in SINGLE])
def test_an_object_without_the_mark_is_left_alone_until_it_has_it_again(
    cart: Shop, *, kind: str, name: str, change: dict[str, Any], owner: list[str]
) -> None:
    running, before = uids(cart), cart.get(kind, name)["spec"]
    annotate(cart, kind, name, f"{MARK}-")
    wait_for_owners(cart, kind, name, [])
    edit(cart, kind, name, **change)
    edited = cart.get(kind, name)["spec"]
    poke(cart)
    found = cart.get(kind, name)
    assert found["spec"] == edited
    assert MARK not in found["metadata"].get("annotations", {}), "the removal is never repaired"

    annotate(cart, kind, name, f"{MARK}=cart")
    wait_for_owners(cart, kind, name, owner)
    cart.cluster.wait_for(
        "it to be as before", lambda: True if cart.get(kind, name)["spec"] == before else None, cart.namespace
    )
    assert uids(cart) == running
    cart.wait_for_state("Ready")


def test_a_pod_whose_workload_is_unbound_is_not_replaced_by_a_roll_that_ends_nevertheless(cart: Shop) -> None:
    annotate(cart, "statefulset", "cart-1", f"{MARK}-")
    wait_for_owners(cart, "statefulset", "cart-1", [])
    before = uids(cart)
    cart.patch("cart", {"labels": {"round": "two"}})
    cart.wait_for_state("Ready", deadline_s=180)
    after = uids(cart)
    assert (after["cart-1"] == before["cart-1"], after["cart-0"] == before["cart-0"]) == (True, False)

    annotate(cart, "statefulset", "cart-1", f"{MARK}=cart")

    def replaced() -> bool | None:
        found = cart.cluster.get("pods", namespace=cart.namespace, selector="valkey.io/node=cart-1")["items"]
        return True if found and all(each["metadata"]["uid"] != before["cart-1"] for each in found) else None

    cart.cluster.wait_for("its turn", replaced, cart.namespace, deadline_s=120)
    cart.wait_for_state("Ready", deadline_s=180)


def all_of(shop: Shop) -> list[Any]:
    found = shop.cluster.get(KINDS, namespace=shop.namespace)["items"]
    return [each for each in found if is_kept(each) and each["kind"] != "Valkey"]


def is_let_go(shop: Shop) -> bool | None:
    released = [
        MARK not in each["metadata"].get("annotations", {}) and not each["metadata"].get("ownerReferences")
        for each in all_of(shop)
    ]
    return True if all(released) else None


def test_a_valkey_is_unbound_deleted_and_taken_up_again_and_no_pod_restarts(cart: Shop) -> None:
    place = f"--namespace={cart.namespace}"
    running, count = uids(cart), len(all_of(cart))

    annotate(cart, "valkey", "cart", "valkey.io/unbind=true")
    cart.cluster.wait_for("all to be let go of", lambda: is_let_go(cart), cart.namespace)
    cart.cluster.wait_for("the status", lambda: True if cart.status() == {"state": "Unbound"} else None, cart.namespace)
    assert (uids(cart), len(all_of(cart))) == (running, count)
    cart.scale(1)
    poke(cart)
    assert (uids(cart), cart.status()) == (running, {"state": "Unbound"})
    cart.scale(2)

    annotate(cart, "valkey", "cart", "valkey.io/unbind-")
    assert cart.wait_for_state("Ready")["primary"]
    wait_for_owners(cart, "statefulset", "cart-0", ["cart-0"])
    assert (uids(cart), len(all_of(cart))) == (running, count)
    assert not is_let_go(cart)

    annotate(cart, "valkey", "cart", "valkey.io/unbind=true")
    cart.cluster.wait_for("all to be let go of", lambda: is_let_go(cart), cart.namespace)
    spec = cart.get("valkey", "cart")["spec"]
    cart.cluster.kubectl("delete", "valkey", "cart", place)
    poke_without_valkey(cart)
    assert (uids(cart), len(all_of(cart))) == (running, count)
    cart.write(30)

    cart.apply(valkey() | {"spec": spec})
    cart.wait_for_state("Ready")
    wait_for_owners(cart, "valkeynode", "cart-1", ["cart"])
    assert (uids(cart), len(all_of(cart))) == (running, count)
    assert cart.count("cart-0") == 30


def poke_without_valkey(shop: Shop) -> None:
    annotate(shop, "service", "cart", f"looked-at={time.monotonic_ns()}")
    time.sleep(LOOKED_AT_S)
