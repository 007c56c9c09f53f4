"""Objects of somebody else under names that a Valkey needs: left alone, told, and all that is possible runs."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, Manifest, is_ready
from tests.e2e.manifests import claim, container, service
from tests.e2e.objects import content_of
from tests.e2e.valkeys import Shop, open_shop, valkey

ACCOUNT = "system:serviceaccount:default:nobody"


def plain(kind: str, name: str, version: str = "v1", **fields: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {"team": "other"}}, **fields}


def rbac(kind: str, name: str, **fields: Any) -> Manifest:
    return plain(kind, name, "rbac.authorization.k8s.io/v1", **fields)


def stateful_set(name: str) -> Manifest:
    labels = {"team": "other"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "serviceName": name, "template": template}
    return plain("StatefulSet", name, "apps/v1", spec=spec)


def resource(kind: str, name: str, spec: Manifest) -> Manifest:
    return plain(kind, name, "valkey.io/v1alpha1", spec=spec)


BOUND = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "nothing"},
    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": ACCOUNT}],
}
RECORD = {"owner": {"kind": "Valkey", "name": "shard"}, "index": 0, "epoch": 3, "primary": "shard-0"}

OTHERS = {"matchLabels": {"team": "other"}}

# The Valkey that is in the way, and the object of somebody else.
FOREIGN: list[tuple[str, Manifest]] = [
    ("runs", service("runs", {"team": "other"})),
    ("runs", service("runs-nodes", {"team": "other"})),
    ("runs", rbac("Role", "runs-agent", rules=[])),
    ("bound", rbac("RoleBinding", "bound-agent", **BOUND)),
    ("wide", service("wide-1", {"team": "other"})),
    ("wide", plain("ConfigMap", "wide-2-config", data={"boot.conf": "port 1"})),
    ("wide", plain("Secret", "wide-3-agent", stringData={"tls.crt": "x"})),
    ("wide", claim("wide-4-data", "256Mi")),
    ("wide", stateful_set("wide-5")),
    ("wide", plain("PodDisruptionBudget", "wide", "policy/v1", spec={"minAvailable": 0, "selector": OTHERS})),
    ("wide", plain("EndpointSlice", "wide", "discovery.k8s.io/v1", addressType="IPv4", endpoints=[])),
    ("wide", resource("ValkeyNode", "wide-6", {"type": "valkey"})),
    ("account", plain("ServiceAccount", "account-agent")),
    ("secret", plain("Secret", "secret-auth", stringData={"password": "theirs"})),
    ("shard", resource("ValkeyShard", "shard", RECORD)),
]
NAMES = [f"{found['kind']}-{found['metadata']['name']}" for _, found in FOREIGN]
NODES = {"wide": 7}


@pytest.fixture(scope="module")
def taken(cluster: Cluster) -> Iterator[tuple[Shop, list[Manifest]]]:
    """A namespace in which somebody was before us, and what he has made."""
    with cluster.namespace("conflict") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(*(found for _, found in FOREIGN))
        yield shop, [shop.get(found["kind"], found["metadata"]["name"]) for _, found in FOREIGN]


@pytest.fixture(scope="module")
def shop(taken: tuple[Shop, list[Manifest]]) -> Shop:
    """Valkeys whose names are taken, each in part."""
    shop, _ = taken
    shop.apply(*(valkey(name, replicas=NODES.get(name, 1)) for name in dict(FOREIGN)))
    for name in dict(FOREIGN):
        wait_for_conflict(shop, name)
    return shop


def wait_for_conflict(shop: Shop, name: str, *said: str) -> Any:
    def told() -> Any:
        found = shop.condition("NameConflict", name)
        return found if found and all(part in found["message"] for part in said) else None

    return shop.cluster.wait_for(f"a NameConflict of {name} about {said}", told, shop.namespace)


def pod_is_ready(shop: Shop, node: str) -> bool | None:
    pods = shop.cluster.get("pods", namespace=shop.namespace, selector=f"valkey.io/node={node}")["items"]
    return True if pods and is_ready(pods[0]) else None


@pytest.mark.parametrize("index", range(len(FOREIGN)), ids=NAMES)
def test_it_is_left_alone_and_told_with_its_kind_and_name(
    shop: Shop, taken: tuple[Shop, list[Manifest]], index: int
) -> None:
    name, foreign = FOREIGN[index]
    kind, before = foreign["kind"], taken[1][index]
    wait_for_conflict(shop, name, f"{kind} {foreign['metadata']['name']} exists already")
    found = shop.get(kind, foreign["metadata"]["name"])
    assert content_of(found) == content_of(before)
    assert (found["metadata"]["uid"], found.get("data")) == (before["metadata"]["uid"], before.get("data"))
    status = shop.status(name)
    assert status["reason"] == "NameConflict"
    assert status["state"] in ("Degraded", "Failed")


@pytest.mark.parametrize("node", ["runs-0", "bound-0", "wide-0"])
def test_what_needs_none_of_them_runs(shop: Shop, node: str) -> None:
    shop.cluster.wait_for(f"{node} to be Ready", lambda: pod_is_ready(shop, node), shop.namespace, deadline_s=120)
    secret = f"{node.removesuffix('-0')}-auth"
    assert shop.say(node, "SET", "key", "value", password=shop.password(secret)) == "OK"


@pytest.mark.parametrize("name", ["account", "secret", "shard"])
def test_no_pod_runs_with_what_belongs_to_somebody_else(shop: Shop, name: str) -> None:
    assert shop.exists("service", name), "the rest is made"
    assert not shop.exists("valkeynode", f"{name}-0")


@pytest.mark.parametrize(("name", "foreign"), FOREIGN, ids=NAMES)
def test_when_it_goes_ours_is_made(shop: Shop, name: str, foreign: Manifest) -> None:
    kind, taken = foreign["kind"], foreign["metadata"]["name"]
    shop.cluster.kubectl("delete", kind, taken, f"--namespace={shop.namespace}")

    def ours() -> bool | None:
        found = shop.get(kind, taken)["metadata"] if shop.exists(kind, taken) else {}
        return True if found.get("annotations", {}).get("valkey.io/cr") == name else None

    shop.cluster.wait_for(f"{kind} {taken} to be made", ours, shop.namespace)


def test_in_the_end_nothing_is_said_of_a_conflict_any_more(shop: Shop) -> None:
    shop.scale(1, "wide")
    for name in dict(FOREIGN):
        shop.wait_for_state("Ready", name, deadline_s=180)
        assert shop.condition("NameConflict", name) is None


def test_an_object_of_another_valkey_is_somebody_elses_too(shop: Shop) -> None:
    """Valkey runs-0 needs a Service that node runs-0 of Valkey runs has."""
    address = shop.get("service", "runs-0")["spec"]
    shop.apply(valkey("runs-0"))
    found = wait_for_conflict(shop, "runs-0", "Service runs-0 exists already")
    assert found["status"] == "True"
    assert shop.get("service", "runs-0")["spec"] == address
    assert shop.status("runs")["state"] == "Ready"
    shop.cluster.wait_for(
        "its node to be Ready", lambda: pod_is_ready(shop, "runs-0-0"), shop.namespace, deadline_s=120
    )
