"""ValkeyOperatorDefaults: the operator's namespace for all, a namespace's own over it, a spec over both."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest
from tests.e2e.valkeys import Shop, Tested, valkey

OPERATORS = "valkey-operator-system"
NAME = "valkey-operator-defaults"
Apply = Callable[..., None]


def defaults(**spec: Any) -> Manifest:
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyOperatorDefaults",
        "metadata": {"name": NAME},
        "spec": spec,
    }


@pytest.fixture
def for_all(cluster: Cluster) -> Iterator[Apply]:
    """Sets the defaults of the operator's namespace; they are gone after the test."""
    yield lambda **spec: cluster.apply(defaults(**spec), namespace=OPERATORS)
    cluster.kubectl("delete", "valkeyoperatordefaults", NAME, f"--namespace={OPERATORS}", "--ignore-not-found")


def bare(name: str = "cart", **spec: Any) -> Manifest:
    """A Valkey in which nothing is given but its image and size."""
    found = valkey(name, **spec)
    del found["spec"]["replicas"]
    return found


def wait_for_settings(shop: Shop, *lines: str) -> None:
    def hold() -> bool | None:
        found = shop.get("configmap", "cart-0-config")["data"]["valkey.conf"].splitlines()
        return True if set(lines) <= set(found) else None

    shop.cluster.wait_for(f"{lines} in the settings of cart-0", hold, shop.namespace)


def test_defaults_apply_by_precedence_and_their_removal_falls_back(shop: Shop, for_all: Apply) -> None:
    for_all(
        valkey={"replicas": 2}, config={"slowlog-max-len": 71, "hz": 13, "maxclients": 900}, priorityClassName="nowhere"
    )
    shop.apply(defaults(config={"slowlog-max-len": 72, "hz": 14}, priorityClassName="system-node-critical"))
    shop.apply(bare(config={"slowlog-max-len": 73}))
    status = shop.wait_for_state("Ready")
    assert status["totalReplicas"] == 2
    expected = {"slowlog-max-len": "73", "hz": "14", "maxclients": "900"}
    assert shop.directives("cart-0", *expected) == expected
    assert shop.pod_of("cart-0")["spec"]["priorityClassName"] == "system-node-critical"
    before = shop.uids()

    # A change that needs a restart is rolled, one that does not is not.
    shop.apply(
        defaults(config={"slowlog-max-len": 72, "hz": 15, "databases": 18}, priorityClassName="system-node-critical")
    )

    def rolled() -> Any:
        found, uids = shop.status(), shop.uids()
        new = len(uids) == 2 and not set(uids.values()) & set(before.values())
        return found if new and found.get("state") == "Ready" else None

    shop.cluster.wait_for("both pods to be replaced", rolled, shop.namespace, deadline_s=150)
    expected = {"slowlog-max-len": "73", "hz": "15", "databases": "18"}
    assert shop.directives("cart-0", *expected) == expected

    shop.cluster.kubectl("delete", "valkeyoperatordefaults", NAME, f"--namespace={shop.namespace}")
    for_all(config={"hz": 16})
    # The namespace's own are gone, and of the operator's only hz is left; replicas is the built-in 1 again.
    wait_for_settings(shop, "hz 16", "slowlog-max-len 73")

    def alone() -> bool | None:
        found = shop.status()
        return True if (found["state"], found["totalReplicas"], len(shop.uids())) == ("Ready", 1, 1) else None

    shop.cluster.wait_for("one pod to be left", alone, shop.namespace, deadline_s=150)


def test_a_default_that_existing_nodes_cannot_take_is_held_while_everything_runs(shop: Shop) -> None:
    shop.apply({**valkey(), "spec": {"image": Tested.image(), "persistence": {"size": "256Mi"}}})
    shop.wait_for_state("Ready")
    before = shop.uids()
    shop.write(50)

    shop.apply(defaults(persistence={"enabled": False}, podManagementType="deployment"))
    condition = shop.wait_for_condition("SpecValid", "False")
    assert (
        "spec.persistence.enabled is false: it cannot change on nodes that exist; set it back to true"
        in (condition["message"])
    )
    assert "spec.podManagementType is deployment" in condition["message"]
    assert shop.wait_for_state("Degraded")["reason"] == "InvalidSpec"
    assert (shop.uids(), shop.count("cart-0")) == (before, 50)
    assert shop.status()["primary"] == "cart-0"

    shop.cluster.kubectl("delete", "valkeyoperatordefaults", NAME, f"--namespace={shop.namespace}")
    shop.wait_for_state("Ready")
    assert shop.uids() == before
