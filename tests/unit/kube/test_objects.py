import msgspec
import pytest

from tests.support.engine import CONFIG_MAPS, ConfigMap
from valkey_operator.kube.objects import Key, Query, Resource, parse_version

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CONFIG_MAPS.collection_path(None), "/api/v1/configmaps"),
        (CONFIG_MAPS.collection_path("team"), "/api/v1/namespaces/team/configmaps"),
        (LEASES.object_path(Key("team", "a")), "/apis/coordination.k8s.io/v1/namespaces/team/leases/a"),
        (
            LEASES.object_path(Key("team", "a"), "status"),
            "/apis/coordination.k8s.io/v1/namespaces/team/leases/a/status",
        ),
        (NODES.object_path(Key("", "node0")), "/api/v1/nodes/node0"),
    ],
)
def test_every_resource_is_found_under_its_path(path: str, expected: str) -> None:
    assert path == expected


def test_a_selector_narrows_a_query_down() -> None:
    assert Query(CONFIG_MAPS, selector="a=b").params == {"labelSelector": "a=b"}
    assert Query(CONFIG_MAPS).params == {}


def test_a_projection_keeps_only_its_own_fields() -> None:
    body = {"metadata": {"name": "a", "namespace": "b", "managedFields": [{"manager": "x"}]}, "binaryData": {"y": "z"}}
    found = msgspec.json.decode(msgspec.json.encode(body), type=ConfigMap)
    assert found.key == Key("b", "a")
    assert b"managedFields" not in msgspec.json.encode(found)
    assert b"binaryData" not in msgspec.json.encode(found)


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("", 0), ("opaque", 0)])
def test_versions_are_numbers(text: str, number: int) -> None:
    assert parse_version(text) == number
