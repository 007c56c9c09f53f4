"""Objects that somebody edits or deletes by hand come back, and the Valkey serves meanwhile."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.objects import content_of
from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import Shop, open_shop, valkey

AOF = {"aof": {"enabled": True, "fsync": "always"}}
# The longest way to a server: kubelet brings a changed Secret to a pod within 90 s.
BROUGHT_WITHIN_S = 150


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    """A Valkey of two nodes, which every test of this module leaves as it was."""
    with cluster.namespace("by-hand") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(valkey(replicas=2, persistence=AOF, readService={"enabled": True}))
        shop.wait_for_state("Ready")
        shop.write(10)
        yield shop


def edit(shop: Shop, kind: str, name: str, patch: Manifest | list[Manifest]) -> None:
    sort = "json" if isinstance(patch, list) else "merge"
    place = f"--namespace={shop.namespace}"
    shop.cluster.kubectl("patch", kind, name, place, f"--type={sort}", f"--patch={json.dumps(patch)}")


def pods(shop: Shop) -> dict[str, str]:
    return {node: shop.pod_of(node)["metadata"]["uid"] for node in ("cart-0", "cart-1")}


def wait_for_content(shop: Shop, kind: str, name: str, wanted: Manifest) -> Any:
    """The object, once it is what it was."""

    def restored() -> Any:
        found = shop.get(kind, name) if shop.exists(kind, name) else None
        return found if found and content_of(found) == wanted else None

    return shop.cluster.wait_for(f"{kind} {name} to be {json.dumps(wanted)}", restored, shop.namespace)


def wait_for_ready(shop: Shop, count: int = 2) -> Any:
    def ready() -> Any:
        status = shop.status()
        return status if (status.get("state"), status.get("readyReplicas")) == ("Ready", count) else None

    return shop.cluster.wait_for("all to be Ready again", ready, shop.namespace, deadline_s=180)


EDITS: list[tuple[str, str, Manifest | list[Manifest]]] = [
    ("service", "cart", {"spec": {"selector": {"valkey.io/role": "replica"}}}),
    ("endpointslice", "cart", {"endpoints": []}),
    ("endpointslice", "cart", {"metadata": {"labels": {"kubernetes.io/service-name": "cart-read"}}}),
    ("service", "cart", [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1234}]),
    ("service", "cart-read", {"spec": {"selector": {"valkey.io/role": "primary"}}}),
    ("service", "cart-nodes", {"spec": {"publishNotReadyAddresses": False}}),
    ("service", "cart-1", {"spec": {"selector": {"valkey.io/node": "cart-0"}}}),
    ("service", "cart", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}),
    ("configmap", "cart-1-config", {"data": {"valkey.conf": "appendonly no\n"}}),
    ("role", "cart-agent", {"rules": []}),
    ("rolebinding", "cart-agent", {"subjects": []}),
    ("serviceaccount", "cart-agent", {"automountServiceAccountToken": True}),
    ("pdb", "cart", {"spec": {"minAvailable": 0}}),
    ("pdb", "cart", {"spec": {"selector": {"matchLabels": {"valkey.io/cluster": "other"}}}}),
    ("statefulset", "cart-1", {"spec": {"template": {"metadata": {"annotations": {"valkey.io/roll-hash": "x"}}}}}),
    ("statefulset", "cart-1", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
    ("pvc", "cart-1-data", {"metadata": {"labels": {"valkey.io/node": "cart-0"}}}),
    ("pvc", "cart-1-data", {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}),
    ("valkeynode", "cart-1", {"spec": {"valkeyConfig": {"directives": {"appendonly": ["no"]}}}}),
    ("valkeynode", "cart-1", {"spec": {"valkeyConfig": {"directives": {"databases": ["1"]}}}}),
    ("valkeynode", "cart-1", {"metadata": {"ownerReferences": None}}),
    ("valkeynode", "cart-1", {"metadata": {"labels": {"valkey.io/cluster": "other"}}}),
    ("secret", "cart-1-agent", {"data": {"tls.crt": base64.b64encode(b"garbled").decode()}}),
    ("secret", "cart-auth", {"data": {"uri": base64.b64encode(b"elsewhere").decode()}}),
    ("secret", "cart-auth", {"data": {"host": None}}),
]


@pytest.mark.parametrize(("kind", "name", "patch"), EDITS, ids=[f"{kind}-{name}" for kind, name, _ in EDITS])
def test_what_was_edited_comes_back_and_no_pod_restarts(
    cart: Shop, kind: str, name: str, patch: Manifest | list[Manifest]
) -> None:
    before, running = content_of(cart.get(kind, name)), pods(cart)
    was = cart.get(kind, name)
    edit(cart, kind, name, patch)
    after = wait_for_content(cart, kind, name, before)
    assert after["metadata"]["uid"] == was["metadata"]["uid"], "it is mended, not replaced"
    if kind == "secret" and name == "cart-auth":
        cart.cluster.wait_for(
            "the data", lambda: True if cart.get(kind, name)["data"] == was["data"] else None, cart.namespace
        )
    assert pods(cart) == running
    assert wait_for_ready(cart)["primary"] == "cart-0"
    cart.write(10)


DELETIONS = [
    ("service", "cart"),
    ("endpointslice", "cart"),
    ("service", "cart-read"),
    ("service", "cart-nodes"),
    ("service", "cart-1"),
    ("service", "cart-0"),
    ("configmap", "cart-1-config"),
    ("role", "cart-agent"),
    ("rolebinding", "cart-agent"),
    ("serviceaccount", "cart-agent"),
    ("pdb", "cart"),
    ("secret", "cart-1-agent"),
]


@pytest.mark.parametrize(("kind", "name"), DELETIONS, ids=[f"{kind}-{name}" for kind, name in DELETIONS])
def test_what_was_deleted_comes_back_and_no_pod_restarts(cart: Shop, kind: str, name: str) -> None:
    was, running = cart.get(kind, name), pods(cart)
    cart.cluster.kubectl("delete", kind, name, f"--namespace={cart.namespace}")
    found = wait_for_content(cart, kind, name, content_of(was))
    assert found["metadata"]["uid"] != was["metadata"]["uid"]
    assert pods(cart) == running
    if name in ("cart-0", "cart-1"):
        assert found["spec"]["clusterIP"] == was["spec"]["clusterIP"], "a node keeps its address"
    assert wait_for_ready(cart)["primary"] == "cart-0"
    cart.write(10)


def test_a_role_label_that_was_edited_comes_back(cart: Shop) -> None:
    name = cart.pod_of("cart-1")["metadata"]["name"]
    edit(cart, "pod", name, {"metadata": {"labels": {"valkey.io/role": "primary"}}})

    def restored() -> bool | None:
        return True if cart.get("pod", name)["metadata"]["labels"]["valkey.io/role"] == "replica" else None

    cart.cluster.wait_for("the label to come back", restored, cart.namespace)


def test_the_record_is_made_anew_as_the_servers_are(cart: Shop) -> None:
    """Nobody is wiped and nobody restarts: who is primary stays it, in an epoch above all that were promised."""
    running, record = pods(cart), cart.get("valkeyshard", "cart")
    runs = {node: cart.say(node, "INFO", "server").split("run_id:")[1].split()[0] for node in ("cart-0", "cart-1")}
    with steady_writes(cart):
        cart.cluster.kubectl("delete", "valkeyshard", "cart", f"--namespace={cart.namespace}")

        def remade() -> Any:
            found = cart.get("valkeyshard", "cart") if cart.exists("valkeyshard", "cart") else None
            return found if found and found["spec"].get("promotable") else None

        found = cart.cluster.wait_for("the record to be made anew", remade, cart.namespace)
        assert found["metadata"]["uid"] != record["metadata"]["uid"]
        assert (found["spec"]["primary"], found["spec"]["promotable"]) == ("cart-0", ["cart-1"])
        assert found["spec"]["epoch"] > record["spec"]["epoch"]
    assert pods(cart) == running
    assert runs == {
        node: cart.say(node, "INFO", "server").split("run_id:")[1].split()[0] for node in ("cart-0", "cart-1")
    }
    assert cart.say("cart-1", "ROLE").splitlines()[3] == "connected"


@pytest.mark.parametrize("replicas", [0, 3])
def test_a_workload_that_was_scaled_has_one_pod_again(cart: Shop, replicas: int) -> None:
    with steady_writes(cart):
        cart.cluster.kubectl(
            "scale", "statefulset", "cart-1", f"--namespace={cart.namespace}", f"--replicas={replicas}"
        )

        def one() -> bool | None:
            scaled = cart.get("statefulset", "cart-1")["spec"]["replicas"]
            selector = "valkey.io/node=cart-1"
            found = cart.cluster.get("pods", namespace=cart.namespace, selector=selector)["items"]
            names = [pod["metadata"]["name"] for pod in found]
            return True if (scaled, names) == (1, ["cart-1-0"]) else None

        cart.cluster.wait_for("one pod of cart-1", one, cart.namespace, deadline_s=90)
        wait_for_ready(cart)


def test_a_pod_that_was_deleted_comes_back(cart: Shop) -> None:
    with steady_writes(cart):
        uid = cart.pod_of("cart-1")["metadata"]["uid"]
        cart.delete_pod("cart-1")

        def another() -> bool | None:
            found = cart.cluster.get("pods", namespace=cart.namespace, selector="valkey.io/node=cart-1")["items"]
            return True if found and all(pod["metadata"]["uid"] != uid for pod in found) else None

        cart.cluster.wait_for("another pod", another, cart.namespace, deadline_s=90)
        wait_for_ready(cart)


def test_a_workload_that_was_deleted_comes_back(cart: Shop) -> None:
    was = cart.get("statefulset", "cart-1")
    with steady_writes(cart):
        cart.cluster.kubectl("delete", "statefulset", "cart-1", f"--namespace={cart.namespace}", "--wait=false")
        found = wait_for_content(cart, "statefulset", "cart-1", content_of(was))
        assert found["metadata"]["uid"] != was["metadata"]["uid"]
        wait_for_ready(cart)


def test_a_node_that_was_deleted_comes_back_with_its_data(cart: Shop) -> None:
    was = cart.get("valkeynode", "cart-1")
    with steady_writes(cart):
        cart.cluster.kubectl("delete", "valkeynode", "cart-1", f"--namespace={cart.namespace}", "--wait=false")

        def another() -> bool | None:
            found = cart.get("valkeynode", "cart-1") if cart.exists("valkeynode", "cart-1") else None
            if found is None or found["metadata"]["uid"] == was["metadata"]["uid"]:
                return None
            return True if found.get("status", {}).get("ready") else None

        cart.cluster.wait_for("another node cart-1", another, cart.namespace, deadline_s=120)
        wait_for_ready(cart)


def accepts(shop: Shop, node: str, password: str) -> bool:
    return shop.say(node, "PING", password=password) == "PONG"


def wait_for_password(shop: Shop, *nodes: str) -> None:
    """Until every server accepts what the Secret holds."""

    def accepted() -> bool | None:
        return True if all(accepts(shop, node, shop.password()) for node in nodes) else None

    shop.cluster.wait_for(
        "the servers to accept the password of the Secret", accepted, shop.namespace, deadline_s=BROUGHT_WITHIN_S
    )


@pytest.mark.parametrize("how", ["deleted", "without its password", "edited"])
def test_the_servers_accept_what_the_secret_holds_in_the_end(cart: Shop, how: str) -> None:
    """And meanwhile what it held before, so that nobody is locked out; and no pod restarts."""
    running, former = pods(cart), cart.password()
    if how == "deleted":
        cart.cluster.kubectl("delete", "secret", "cart-auth", f"--namespace={cart.namespace}")
    elif how == "edited":
        edit(cart, "secret", "cart-auth", {"stringData": {"password": "p@ss #word"}})
    else:
        edit(cart, "secret", "cart-auth", {"data": {"password": None}})

    def consistent() -> str | None:
        if not cart.exists("secret", "cart-auth"):
            return None
        data = cart.get("secret", "cart-auth").get("data", {})
        held = {key: base64.b64decode(value).decode() for key, value in data.items()}
        changed = held.get("password") not in (None, former)
        shown = held.get("password", "").replace("@", "%40").replace(" ", "%20").replace("#", "%23")
        uri = f"valkey://default:{shown}@cart.{cart.namespace}.svc:6379"
        return held["password"] if changed and held.get("uri") == uri else None

    password = cart.cluster.wait_for("a Secret with a password", consistent, cart.namespace)
    assert accepts(cart, "cart-0", former), "who has read the former one is not locked out at once"
    wait_for_password(cart, "cart-0", "cart-1")
    assert (password == "p@ss #word") == (how == "edited")
    assert pods(cart) == running
    wait_for_ready(cart)
    cart.write(10)


@pytest.mark.parametrize("kind", ["deployment", "valkeynode"])
def test_the_pod_of_a_deployment_is_not_replaced_when_somebody_edits_its_template(shop: Shop, kind: str) -> None:
    """A Deployment alone would replace it twice, for the edit and for its undoing."""
    shop.apply(valkey(podManagementType="deployment"))
    shop.wait_for_state("Ready")
    before, uid = content_of(shop.get(kind, "cart-0")), shop.pod_of("cart-0")["metadata"]["uid"]
    field = "podTemplate" if kind == "valkeynode" else "template"
    edit(shop, kind, "cart-0", {"spec": {field: {"metadata": {"annotations": {"edited": "yes"}}}}})
    if kind == "valkeynode":
        wait_for_content(shop, kind, "cart-0", before)
    shop.patch("cart", {"readService": {"enabled": True}})
    shop.wait_for_state("Ready")
    assert shop.pod_of("cart-0")["metadata"]["uid"] == uid
    shop.patch("cart", {"labels": {"round": "two"}})

    def replaced() -> bool | None:
        pods = shop.cluster.get("pods", namespace=shop.namespace, selector="valkey.io/node=cart-0")["items"]
        return True if pods and all(pod["metadata"]["uid"] != uid for pod in pods) else None

    shop.cluster.wait_for("its turn to come", replaced, shop.namespace, deadline_s=90)
    shop.wait_for_state("Ready")
