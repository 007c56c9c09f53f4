"""A ValkeyCluster under test: how a test makes one, and what its servers and its clients say."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from testbed.layout import ZONES
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest
from tests.e2e.valkeys import CLIENT, Shop, Tested, open_shop

SLOTS = 16384
FORMED_WITHIN_S = 180


def homes() -> dict[str, Any]:
    """A zone for each shard's first node: no primary would be better placed elsewhere, and is moved there."""
    return {} if os.environ.get("KUBECONFIG") else {"azDistribution": {"zones": [*ZONES]}}


def sharded(*, shards: int = 3, replicas: int = 2, **spec: Any) -> Manifest:
    """A ValkeyCluster called cart with small volumes; `persistence` given in full replaces that."""
    persistence = {"size": "256Mi"} | spec.pop("persistence", {})
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyCluster",
        "metadata": {"name": "cart"},
        "spec": {
            "image": Tested.image(),
            "shards": shards,
            "replicas": replicas,
            "persistence": persistence,
            **homes(),
            **spec,
        },
    }


def open_cluster_shop(cluster: Cluster, namespace: str) -> Shop:
    """A shop whose cart is a ValkeyCluster."""
    shop = open_shop(cluster, namespace)
    return Shop(shop.cluster, shop.namespace, "valkeycluster")


def wait_until_well(shop: Shop, *, deadline_s: float = FORMED_WITHIN_S) -> Any:
    """The status, once it is Ready with all slots served."""
    status = shop.wait_for_state("Ready", deadline_s=deadline_s)
    assert (status["slotsAssigned"], status["slotsUnassigned"]) == (SLOTS, 0)
    assert {each["type"]: each["status"] for each in status["conditions"]}["SlotsCovered"] == "True"
    return status


def primaries(shop: Shop) -> dict[int, str]:
    """The primary of each shard, as the status tells."""
    return {each["shardIndex"]: each.get("primary") for each in shop.status()["shards"]}


def roles(shop: Shop) -> dict[str, str]:
    """What each server says that it is."""
    return {node: shop.say(node, "ROLE").split("\n")[0] for node in shop.pods()}


def views(shop: Shop) -> Iterator[dict[str, str]]:
    """Who owns which slots, as every node sees it."""
    for node in shop.pods():
        lines = [line.split() for line in shop.say(node, "CLUSTER", "NODES").splitlines()]
        yield {line[0]: " ".join(line[8:]) for line in lines if len(line) > 8}


def check_that_all_agree(shop: Shop) -> None:
    """Every node sees the same owners, all slots have one, and none is open.

    They are asked one after the other, and a primary may go back to its zone meanwhile: so it is looked at again.
    """

    def agreed() -> bool | None:
        first, *others = list(views(shop))
        return True if all(each == first for each in others) and owns_all(first.values()) else None

    shop.cluster.wait_for("all nodes to see the same owners of all slots", agreed, shop.namespace, deadline_s=20)


def owns_all(owned: Iterable[str]) -> bool:
    """Whether these ranges are all slots, and none is open."""
    ranges = [part for slots in owned for part in slots.split()]
    if any(part.startswith("[") for part in ranges):
        return False
    bounds = [part.split("-") for part in ranges]
    return sum(int(bound[-1]) - int(bound[0]) + 1 for bound in bounds) == SLOTS


def fill(shop: Shop, count: int = 500) -> None:
    """Keys all over the slots."""
    words = "".join(f"SET key:{number} {number}\\n" for number in range(count))
    answers = _pipe(shop, f"printf '{words}'")
    assert answers.count("OK") == count, answers[:5]


def count_keys(shop: Shop, count: int = 500) -> int:
    """How many of them a client finds."""
    words = "".join(f"GET key:{number}\\n" for number in range(count))
    return sum(bool(re.fullmatch(r"\d+", each)) for each in _pipe(shop, f"printf '{words}'"))


def _pipe(shop: Shop, produce: str) -> list[str]:
    script = f'{produce} | valkey-cli -c -h cart -a "$1" --no-auth-warning'
    return shop.cluster.say_in(shop.namespace, CLIENT, "sh", "-c", script, "pipe", shop.password()).splitlines()


def wait_for_keys(shop: Shop, count: int = 500) -> None:
    """Wait until a client finds all of them."""

    def all_there() -> bool | None:
        try:
            return True if count_keys(shop, count) == count else None
        except AssertionError:
            return None

    shop.cluster.wait_for(f"{count} keys", all_there, shop.namespace, deadline_s=60)


def events(shop: Shop) -> set[str]:
    """The reasons of all events of the cluster."""
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return {event["reason"] for event in found if event["involvedObject"]["kind"] == "ValkeyCluster"}


def annotate(shop: Shop, *notes: str) -> None:
    shop.cluster.kubectl("annotate", "valkeycluster", "cart", f"--namespace={shop.namespace}", "--overwrite", *notes)


def record(shop: Shop) -> Any:
    """What is remembered of the cluster."""
    return shop.get("valkeyshard", "cart")["spec"]["cluster"]
