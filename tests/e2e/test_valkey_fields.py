"""Services and pods of a Valkey: what each field of the spec becomes, and where pods really land."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest
from tests.e2e.valkeys import CLIENT, Shop, Tested, open_shop, valkey

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
URGENT: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "valkey-fields-test"},
    "value": 1000,
}
SERVER = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "96Mi"}}
AGENT = {"requests": {"cpu": "10m", "memory": "40Mi"}, "limits": {"memory": "160Mi"}}
TOLERATION = {"key": "valkey.io/test", "operator": "Exists", "effect": "NoSchedule"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"team": "shop"}},
}
SELECTOR = {"valkey.io/kind": "Valkey", "valkey.io/cluster": "cart", "valkey.io/shard": "0"}


def cart_with_everything() -> Manifest:
    return valkey(
        replicas=3,
        service={"type": "NodePort", "annotations": {"example.com/lb": "internal"}},
        readService={"enabled": True, "annotations": {"example.com/for": "readers"}},
        exporter={"enabled": True, "port": 9200, "resources": {"requests": {"cpu": "5m"}}},
        resources=SERVER,
        sidecar={"resources": AGENT},
        nodeSelector={"kubernetes.io/os": "linux"},
        tolerations=[TOLERATION],
        topologySpreadConstraints=[SPREAD],
        priorityClassName="valkey-fields-test",
        labels={"team": "shop", "valkey.io/cluster": "not-yours"},
        annotations={"example.com/owner": "shop team"},
        imagePullPolicy="IfNotPresent",
        imagePullSecrets=[{"name": "pull"}],
        securityContext={"fsGroup": 1999, "supplementalGroups": [3000]},
        terminationGracePeriodSeconds=17,
    )


@pytest.fixture(scope="module")
def cart(cluster: Cluster) -> Iterator[Shop]:
    """A Valkey called cart with every field of its pods, which the tests of this module only look at."""
    with cluster.namespace("fields") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(URGENT, cart_with_everything())
        shop.wait_for_state("Ready")
        yield shop
        cluster.kubectl("delete", "priorityclass", "valkey-fields-test")


def containers(pod: Any) -> dict[str, Any]:
    return {each["name"]: each for each in pod["spec"]["initContainers"] + pod["spec"]["containers"]}


def zones(shop: Shop, name: str = "cart") -> dict[str, str]:
    """Where the machines of the pods are, by node."""
    machines = {
        each["metadata"]["name"]: each["metadata"]["labels"][ZONE] for each in shop.cluster.get("nodes")["items"]
    }
    return {node: machines[pod["spec"]["nodeName"]] for node, pod in shop.pods(name).items()}


def addresses(shop: Shop, service: str) -> set[str]:
    """The pods behind a Service, Ready or not."""
    slices = shop.cluster.get(
        "endpointslices", namespace=shop.namespace, selector=f"kubernetes.io/service-name={service}"
    )["items"]
    return {address for each in slices for point in each.get("endpoints") or [] for address in point["addresses"]}


def ips(shop: Shop, *nodes: str) -> set[str]:
    return {shop.pods()[node]["status"]["podIP"] for node in nodes}


def wait_for_addresses(shop: Shop, service: str, *nodes: str) -> None:
    def same() -> bool | None:
        return True if addresses(shop, service) == ips(shop, *nodes) else None

    shop.cluster.wait_for(f"{service} to lead to {', '.join(nodes)}", same, shop.namespace)


def test_the_write_service_has_the_type_and_annotations_that_were_asked_for(cart: Shop) -> None:
    service = cart.get("service", "cart")
    assert service["spec"]["type"] == "NodePort"
    assert service["metadata"]["annotations"]["example.com/lb"] == "internal"
    assert service["spec"]["selector"] == {**SELECTOR, "valkey.io/endpoints": "kept-by-operator"}
    wait_for_addresses(cart, "cart", "cart-0")


def test_the_read_service_leads_to_the_replicas_and_the_headless_one_to_all(cart: Shop) -> None:
    read = cart.get("service", "cart-read")
    assert read["metadata"]["annotations"]["example.com/for"] == "readers"
    wait_for_addresses(cart, "cart-read", "cart-1", "cart-2")
    assert cart.get("service", "cart-nodes")["spec"]["clusterIP"] == "None"
    wait_for_addresses(cart, "cart-nodes", "cart-0", "cart-1", "cart-2")
    status = cart.status()
    assert status["endpoints"]["read"] == f"cart-read.{cart.namespace}.svc:6379"


def test_the_exporter_serves_the_metrics_of_its_server(cart: Shop) -> None:
    wait_for_addresses(cart, "cart-metrics", "cart-0", "cart-1", "cart-2")
    assert cart.status()["exporter"] == {
        "enabled": True,
        "metricsEndpoint": f"http://cart-metrics.{cart.namespace}.svc:9200/metrics",
    }
    [address] = ips(cart, "cart-1")
    script = f"exec 3<>/dev/tcp/{address}/9200; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    page = cart.cluster.say_in(cart.namespace, CLIENT, "bash", "-c", script)
    assert re.search(r"^redis_up 1$", page, re.MULTILINE)
    assert re.search(r'^redis_instance_info\{.*role="slave"', page, re.MULTILINE)
    assert Tested.version in page


def test_labels_and_annotations_are_on_the_pods_and_those_of_the_operator_win(cart: Shop) -> None:
    for pod in cart.pods().values():
        assert pod["metadata"]["labels"]["team"] == "shop"
        assert pod["metadata"]["labels"]["valkey.io/cluster"] == "cart"
        assert pod["metadata"]["annotations"]["example.com/owner"] == "shop team"


def test_each_container_has_the_resources_that_were_asked_for(cart: Shop) -> None:
    found = containers(cart.pod_of("cart-1"))
    assert (found["valkey"]["resources"], found["agent"]["resources"]) == (SERVER, AGENT)
    assert found["exporter"]["resources"] == {"requests": {"cpu": "5m"}}


def test_scheduling_fields_are_those_of_the_spec_and_pods_are_where_they_say(cart: Shop) -> None:
    spec = cart.pod_of("cart-2")["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert TOLERATION in spec["tolerations"]
    assert spec["topologySpreadConstraints"] == [SPREAD]
    assert (spec["priorityClassName"], spec["priority"]) == ("valkey-fields-test", 1000)
    assert len(set(zones(cart).values())) == 3


def test_without_an_affinity_pods_of_a_shard_keep_apart_by_host_and_zone(cart: Shop) -> None:
    apart = cart.pod_of("cart-0")["spec"]["affinity"]["podAntiAffinity"]
    terms = apart["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == [HOST, ZONE]
    assert all(term["podAffinityTerm"]["labelSelector"]["matchLabels"] == SELECTOR for term in terms)


def test_pull_fields_security_and_grace_are_those_of_the_spec(cart: Shop) -> None:
    spec = cart.pod_of("cart-0")["spec"]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert containers(cart.pod_of("cart-0"))["valkey"]["imagePullPolicy"] == "IfNotPresent"
    assert spec["terminationGracePeriodSeconds"] == 17
    security = spec["securityContext"]
    assert (security["fsGroup"], security["supplementalGroups"], security["runAsUser"]) == (1999, [3000], 999)
    groups = cart.cluster.say_in(cart.namespace, cart.pod_of("cart-0")["metadata"]["name"], "id", "-G").split()
    assert {"1999", "3000"} <= set(groups)


def test_status_names_version_and_zone_and_wide_output_the_reason(cart: Shop) -> None:
    status = cart.status()
    assert status["version"].startswith(f"{Tested.version}.")
    assert {node["name"]: node["zone"] for node in status["nodes"]} == zones(cart)
    wide = cart.cluster.kubectl("get", "vk", "cart", f"--namespace={cart.namespace}", "--output=wide")
    head, line = wide.splitlines()
    assert head.split() == ["NAME", "STATE", "READY", "TOTAL", "PRIMARY", "VERSION", "AGE", "REASON"]
    assert (line.split()[:6], line.split()[-1]) == (
        ["cart", "Ready", "3", "3", "cart-0", status["version"]],
        "AllNodesHealthy",
    )


def test_an_affinity_that_is_given_replaces_the_default(shop: Shop) -> None:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-b"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    shop.apply(
        valkey(replicas=2, affinity=affinity),
        valkey("zoned", replicas=3, azDistribution={"primaryZone": "zone-c", "replicaZones": ["zone-a", "zone-b"]}),
        valkey("spread", replicas=3, azDistribution={"primaryZone": "zone-b", "replicaStrategy": "spread"}),
    )
    for name in ("cart", "zoned", "spread"):
        shop.wait_for_state("Ready", name)
    assert shop.pod_of("cart-0")["spec"]["affinity"] == affinity
    assert zones(shop) == {"cart-0": "zone-b", "cart-1": "zone-b"}
    assert zones(shop, "zoned") == {"zoned-0": "zone-c", "zoned-1": "zone-a", "zoned-2": "zone-b"}
    assert shop.status("zoned")["primary"] == "zoned-0"
    assert zones(shop, "spread")["spread-0"] == "zone-b"
    assert len(set(zones(shop, "spread").values())) == 3
    [constraint] = shop.pods("spread")["spread-1"]["spec"]["topologySpreadConstraints"]
    assert (constraint["topologyKey"], constraint["maxSkew"]) == (ZONE, 1)
