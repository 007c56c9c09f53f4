"""One Valkey of one node: what a user gets from a few lines."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.valkeys import Shop, open_shop, valkey


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    """A Valkey called cart that the tests of this module only look at."""
    with cluster.namespace("alone") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(valkey())
        shop.wait_for_state("Ready")
        shop.wait_for_service()
        yield shop


def test_its_line_says_at_a_glance_that_it_is_well(cart: Shop) -> None:
    head, line = cart.cluster.kubectl("get", "vk", "cart", f"--namespace={cart.namespace}").splitlines()
    assert head.split() == ["NAME", "STATE", "READY", "TOTAL", "PRIMARY", "VERSION", "AGE"]
    assert line.split()[:5] == ["cart", "Ready", "1", "1", "cart-0"]


def test_its_status_tells_where_to_connect_and_with_which_secret(cart: Shop) -> None:
    status = cart.status()
    assert status["endpoints"] == {
        "write": f"cart.{cart.namespace}.svc:6379",
        "nodes": f"cart-nodes.{cart.namespace}.svc:6379",
    }
    assert status["secretName"] == "cart-auth"
    assert status["nodes"] == [{"name": "cart-0", "role": "primary", "ready": True, "zone": status["nodes"][0]["zone"]}]
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {
        "Ready": "True",
        "Progressing": "False",
        "Degraded": "False",
        "SpecValid": "True",
        "PrimaryElected": "True",
    }


def test_the_secret_holds_everything_a_client_needs(cart: Shop) -> None:
    secret = {key: cart.password(key=key) for key in ("username", "password", "host", "port", "uri")}
    assert cart.call(secret["host"], "PING", password=secret["password"]) == "PONG"
    assert secret["uri"] == f"valkey://default:{secret['password']}@{secret['host']}:{secret['port']}"


def test_nobody_gets_in_without_the_password(cart: Shop) -> None:
    assert "NOAUTH" in cart.call("cart", "GET", "x", password="")
    assert "NOAUTH" in cart.call("cart", "GET", "x", password="guessed")


def test_writes_go_through_its_service(cart: Shop) -> None:
    assert cart.call("cart", "SET", "greeting", "hello") == "OK"
    assert cart.call("cart-0", "GET", "greeting") == "hello"


def test_its_node_is_described_in_an_object_of_its_own(cart: Shop) -> None:
    status = cart.get("valkeynode", "cart-0")["status"]
    pod = cart.pod_of("cart-0")
    assert (status["podName"], status["podIP"]) == (pod["metadata"]["name"], pod["status"]["podIP"])
    assert (status["observedRole"], status["ready"], status["pvcName"]) == ("primary", True, "cart-0-data")
    assert (status["managedResourceKind"], status["managedResourceName"]) == ("StatefulSet", "cart-0")
    assert status["serviceIP"] == cart.get("service", "cart-0")["spec"]["clusterIP"]


def test_the_node_announces_the_address_of_its_own_service(cart: Shop) -> None:
    address = cart.get("service", "cart-0")["spec"]["clusterIP"]
    assert cart.say("cart-0", "CONFIG", "GET", "replica-announce-ip").split() == ["replica-announce-ip", address]


def test_nothing_restarts_its_pod_but_the_operator(cart: Shop) -> None:
    workload = cart.get("statefulset", "cart-0")["spec"]
    assert (workload["replicas"], workload["podManagementPolicy"]) == (1, "Parallel")
    assert workload["updateStrategy"] == {"type": "OnDelete"}


def test_every_object_tells_whose_it_is(cart: Shop) -> None:
    uid = cart.get("valkey", "cart")["metadata"]["uid"]
    for kind, name in (("valkeynode", "cart-0"), ("valkeyshard", "cart"), ("service", "cart"), ("secret", "cart-auth")):
        meta = cart.get(kind, name)["metadata"]
        assert meta["annotations"]["valkey.io/cr"] == "cart", kind
        assert meta["labels"]["valkey.io/cluster"] == "cart", kind
        assert [owner["uid"] for owner in meta["ownerReferences"] if owner["controller"]] == [uid], kind


def test_the_agent_may_read_the_record_of_its_shard_and_nothing_else(cart: Shop) -> None:
    account = f"--as=system:serviceaccount:{cart.namespace}:cart-agent"
    for verb, what, allowed in (
        ("get", "valkeyshards/cart", "yes"),
        ("get", "valkeyshards/other", "no"),
        ("update", "valkeyshards/cart", "no"),
        ("get", "secrets", "no"),
        ("list", "pods", "no"),
    ):
        asked = cart.cluster.try_kubectl("auth", "can-i", verb, what, f"--namespace={cart.namespace}", account)
        assert asked.stdout.strip() == allowed, (verb, what)


def test_only_the_agent_gets_the_token(cart: Shop) -> None:
    spec = cart.pod_of("cart-0")["spec"]
    holders = {
        container["name"]
        for container in spec["containers"] + spec["initContainers"]
        for mount in container["volumeMounts"]
        if mount["name"] == "token"
    }
    assert holders == {"agent"}
    assert spec["automountServiceAccountToken"] is False


def test_its_events_tell_the_story(cart: Shop) -> None:
    events = cart.cluster.get("events", namespace=cart.namespace)["items"]
    told = [event["reason"] for event in events if event["involvedObject"]["kind"] == "Valkey"]
    assert "AllNodesHealthy" in told


def test_a_second_look_changes_nothing(cart: Shop) -> None:
    """The operator is at rest: what it wrote is not written again."""
    kinds = ("valkey", "valkeynode", "valkeyshard", "service", "statefulset", "configmap", "secret", "pvc", "role")

    def versions() -> dict[str, str]:
        found = cart.cluster.get(",".join(kinds), namespace=cart.namespace)["items"]
        return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in found}

    before = versions()
    cart.cluster.kubectl("annotate", "valkey", "cart", f"--namespace={cart.namespace}", "note=looked-at")
    cart.cluster.kubectl("annotate", "valkey", "cart", f"--namespace={cart.namespace}", "note-")
    cart.wait_for_state("Ready")
    after = versions()
    assert {key for key in before if before[key] != after.get(key)} == {"Valkey/cart"}


def test_data_survive_the_loss_of_the_pod(shop: Shop) -> None:
    shop.apply(valkey(persistence={"aof": {"enabled": True, "fsync": "always"}}))
    shop.wait_for_state("Ready")
    shop.write(100)
    uid = shop.pod_of("cart-0")["metadata"]["uid"]
    shop.delete_pod("cart-0", force=True)

    def back() -> bool | None:
        pods = shop.cluster.get("pods", namespace=shop.namespace, selector="valkey.io/node=cart-0")["items"]
        ready = [pod for pod in pods if pod["metadata"]["uid"] != uid and "podIP" in pod["status"]]
        return True if ready and shop.status().get("state") == "Ready" and shop.status()["readyReplicas"] == 1 else None

    shop.cluster.wait_for("another pod to be Ready", back, shop.namespace, deadline_s=120)
    assert shop.count("cart-0") == 100
