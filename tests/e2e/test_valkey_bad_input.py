"""What cannot be done is refused, or held with field, value and remedy; what runs goes on, and correcting it heals."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.valkeys import READY_WITHIN_S, Shop, Tested, open_shop, valkey

NO_IMAGE = "valkey/valkey:no-such-tag"


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    """A Valkey of one node, without a size of its own, which every test leaves as it was."""
    with cluster.namespace("bad-input") as namespace:
        shop = open_shop(cluster, namespace)
        unsized = valkey()
        del unsized["spec"]["persistence"]
        shop.apply(defaults(persistence={"size": "256Mi"}), unsized)
        shop.wait_for_state("Ready")
        shop.wait_for_service()
        yield shop


def defaults(**spec: Any) -> Manifest:
    meta = {"name": "valkey-operator-defaults"}
    return {"apiVersion": "valkey.io/v1alpha1", "kind": "ValkeyOperatorDefaults", "metadata": meta, "spec": spec}


def wait_for_word(shop: Shop, *said: str, name: str = "cart", type_: str = "Ready") -> Any:
    """The status, once a condition that does not hold tells all of this."""

    def told() -> Any:
        found = shop.condition(type_, name) or {"status": "True", "message": ""}
        return shop.status(name) if found["status"] == "False" and all(w in found["message"] for w in said) else None

    return shop.cluster.wait_for(f"{type_} of {name} to tell of {said}", told, shop.namespace, deadline_s=90)


HELD: list[tuple[str, Manifest, Manifest, list[str]]] = [
    (
        "an unknown directive",
        {"config": {"maxmemmory": "1gb"}},
        {"config": None},
        ["spec.config.maxmemmory is '1gb'", "no such directive", "remove it"],
    ),
    (
        "a ConfigMap that is not there",
        {"configFrom": [{"name": "nowhere"}]},
        {"configFrom": None},
        ['spec.configFrom is "nowhere"', "create it, or remove the reference"],
    ),
    (
        "a Secret that is not there",
        {"auth": {"secretRef": {"name": "nowhere"}}},
        {"auth": None},
        ['spec.auth.secretRef.name is "nowhere"', "create it, or remove the reference"],
    ),
    (
        "a key that is not in the Secret",
        {"auth": {"secretRef": {"name": "cart-auth", "key": "pass"}}},
        {"auth": None},
        ['spec.auth.secretRef.key is "pass"', "add it"],
    ),
    (
        "a sentinel",
        {"sentinel": {"name": "watch"}, "replicas": 2},
        {"sentinel": None, "replicas": 1},
        ['spec.sentinel is "watch"', "does not support Sentinel yet", "remove it"],
    ),
    ("encryption", {"tls": {"enabled": True}}, {"tls": None}, ["spec.tls.enabled is true", "not support TLS yet"]),
]


@pytest.mark.parametrize(("bad", "good", "said"), [row[1:] for row in HELD], ids=[row[0] for row in HELD])
def test_it_is_held_while_the_server_runs_and_correcting_it_heals(
    cart: Shop, bad: Manifest, good: Manifest, said: list[str]
) -> None:
    before = cart.pod_of("cart-0")["metadata"]["uid"]
    try:
        cart.patch("cart", bad)
        status = wait_for_word(cart, *said, type_="SpecValid")
        assert (status["state"], status["reason"], status["readyReplicas"]) == ("Degraded", "InvalidSpec", 1)
        assert cart.call("cart", "SET", "key", "value") == "OK"
    finally:
        cart.patch("cart", good)
    cart.wait_for_state("Ready")
    assert cart.pod_of("cart-0")["metadata"]["uid"] == before


REFUSED: list[tuple[str, Manifest, list[str]]] = [
    ("a size that shrinks", {"persistence": {"size": "128Mi"}}, ["persistence.size is 128Mi", "only grow"]),
    ("a negative number of nodes", {"replicas": -1}, ["spec.replicas", "-1"]),
    ("far too many nodes", {"replicas": 100000}, ["spec.replicas", "100000"]),
    ("a line break", {"config": {"maxmemory-policy": "noeviction\nport 1"}}, ["spec.config", "maxmemory-policy"]),
    ("an owned directive", {"config": {"port": 1}}, ["port"]),
]


@pytest.mark.parametrize(("bad", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_it_is_refused_at_the_door(cart: Shop, bad: Manifest, said: list[str]) -> None:
    place = f"--namespace={cart.namespace}"
    done = cart.cluster.try_kubectl(
        "patch", "valkey", "cart", place, "--type=merge", f"--patch={json.dumps({'spec': bad})}"
    )
    assert done.returncode != 0
    assert all(word in done.stderr for word in said), done.stderr
    assert cart.wait_for_state("Ready")["readyReplicas"] == 1


def test_a_name_that_leaves_no_room_for_its_nodes_is_refused(cart: Shop) -> None:
    done = cart.cluster.try_kubectl(
        "create", f"--namespace={cart.namespace}", "--filename=-", stdin=json.dumps(valkey("x" * 50))
    )
    assert done.returncode != 0
    assert "at most 49" in done.stderr


BAD_DEFAULTS: list[tuple[str, Manifest, list[str]]] = [
    ("an unknown directive", {"config": {"no-such-thing": 1}}, ["spec.config.no-such-thing is 1", "remove it"]),
    ("another sort of workload", {"podManagementType": "deployment"}, ["spec.podManagementType is deployment"]),
    ("no volume any more", {"persistence": {"enabled": False}}, ["spec.persistence.enabled is false", "back to true"]),
]


@pytest.mark.parametrize(("bad", "said"), [row[1:] for row in BAD_DEFAULTS], ids=[row[0] for row in BAD_DEFAULTS])
def test_defaults_that_cannot_be_followed_stop_nothing_that_runs(cart: Shop, bad: Manifest, said: list[str]) -> None:
    before = cart.pod_of("cart-0")["metadata"]["uid"]
    size = {"size": "256Mi", **bad.get("persistence", {})}
    try:
        cart.apply(defaults(**(bad | {"persistence": size})))
        status = wait_for_word(cart, *said, type_="SpecValid")
        assert (status["state"], status["readyReplicas"]) == ("Degraded", 1)
        assert cart.call("cart", "PING") == "PONG"
    finally:
        cart.apply(defaults(persistence={"size": "256Mi"}))
    cart.cluster.wait_for(
        "it to be well again", lambda: True if cart.status()["state"] == "Ready" else None, cart.namespace
    )
    assert cart.pod_of("cart-0")["metadata"]["uid"] == before


def test_quotes_and_hashes_in_a_value_are_nothing_special(shop: Shop) -> None:
    ident = 'it\'s "#1" \\ here #'
    shop.apply(valkey(config={"syslog-ident": ident}))
    shop.wait_for_state("Ready")
    assert shop.say("cart-0", "CONFIG", "GET", "syslog-ident").splitlines() == ["syslog-ident", ident]


def test_a_password_that_comes_later_is_waited_for(shop: Shop) -> None:
    shop.apply(valkey(auth={"secretRef": {"name": "mine", "key": "pass"}}))
    assert wait_for_word(shop, 'spec.auth.secretRef.name is "mine"')["state"] == "Failed"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}}
    shop.apply(secret | {"stringData": {"other": "x"}})
    wait_for_word(shop, 'spec.auth.secretRef.key is "pass"')
    shop.apply(secret | {"stringData": {"pass": "secret"}})
    shop.wait_for_state("Ready")
    shop.wait_for_service(password="secret")


def test_a_roll_to_an_image_that_does_not_exist_halts_at_its_first_pod(shop: Shop) -> None:
    shop.apply(valkey(replicas=2))
    shop.wait_for_state("Ready")
    shop.write(50)
    primary = shop.pod_of("cart-0")["metadata"]["uid"]

    shop.patch("cart", {"image": NO_IMAGE})
    status = wait_for_word(shop, "container valkey cannot start", NO_IMAGE, "Correct spec.image")
    assert (status["state"], status["reason"], status["primary"]) == ("Degraded", "PodFailing", "cart-0")
    shop.write(60)
    assert shop.pod_of("cart-0")["metadata"]["uid"] == primary, "the pods that run keep running"

    shop.patch("cart", {"image": Tested.image()})
    shop.wait_for_state("Ready", deadline_s=180)
    assert shop.pod_of("cart-0")["metadata"]["uid"] == primary, "it is of the right image already"
    shop.wait_for_copies(60, "cart-0", "cart-1")


HOPELESS: list[tuple[str, Manifest, list[str]]] = [
    ("an image that does not exist", {"image": NO_IMAGE}, ["Correct spec.image", NO_IMAGE]),
    (
        "a request that no machine can meet",
        {"resources": {"requests": {"memory": "100Ti"}}},
        ["fits on no machine", "memory", "Lower spec.resources"],
    ),
    (
        "limits below requests",
        {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}},
        ["The API server refuses", "correct the spec", "2Gi"],
    ),
]


@pytest.mark.parametrize("sort", ["statefulset", "deployment"])
@pytest.mark.parametrize(("bad", "said"), [row[1:] for row in HOPELESS], ids=[row[0] for row in HOPELESS])
def test_a_pod_that_never_becomes_ready_does_not_block_its_own_replacement(
    shop: Shop, *, sort: str, bad: Manifest, said: list[str]
) -> None:
    shop.apply(valkey(podManagementType=sort, **{"image": Tested.image(), **bad}))
    wait_for_word(shop, *said)
    shop.patch("cart", {field: valkey()["spec"].get(field) for field in bad})
    shop.wait_for_state("Ready", deadline_s=READY_WITHIN_S)
    shop.wait_for_service()
