"""What cannot work is refused by the API server itself, also while the operator is down."""

import re
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.custom_resources import install, manifest, try_out, try_to_change


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Cluster) -> None:
    install(cluster)


def shard(**changes: Any) -> Manifest:
    record = {"owner": {"kind": "Valkey", "name": "example"}, "index": 0, "epoch": 3, "primary": "example-0"}
    return manifest("ValkeyShard", record | changes)


TWO_SOURCES = {"certificateRef": {"name": "a"}, "issuerRef": {"name": "b"}}
USERS = {"users": [{"name": "app"}], "policyRef": {"name": "p"}}
PASSWORDS = {"password": {"secret": {"name": "a"}}, "secretRef": {"name": "b"}}
DISABLED = {"disabled": True, "secretRef": {"name": "a"}}

REFUSED: list[tuple[str, Manifest, str]] = [
    ("a name that leaves no room", manifest("Valkey", name="x" * 50), r'"x+" \(50 characters\).*at most 49'),
    ("a cluster's name that leaves no room", manifest("ValkeyCluster", name="x" * 46), "at most 45 characters"),
    ("a pool's name that leaves no room", manifest("ValkeyPool", name="x" * 46), "at most 45 characters"),
    ("a sentinel's name that leaves no room", manifest("Sentinel", name="x" * 50), "at most 49 characters"),
    ("a node's name that leaves no room", manifest("ValkeyNode", name="x" * 53), "at most 52 characters"),
    ("a name with a dot", manifest("Valkey", name="a.b"), r'metadata.name is "a.b".*letters, digits and dashes'),
    ("a name that begins with a digit", manifest("Valkey", name="1a"), "begin with a lower-case letter"),
    (
        "defaults of another name",
        manifest("ValkeyOperatorDefaults", name="mine"),
        'is "mine": only valkey-operator-def',
    ),
    (
        "a sentinel for one pod",
        manifest("Valkey", {"sentinel": {"name": "s"}}),
        "replicas is 1 with a sentinel.*at least 2",
    ),
    (
        "a negative number of pods",
        manifest("Valkey", {"replicas": -1}),
        "spec.replicas.*-1.*greater than or equal to 0",
    ),
    ("two shards", manifest("ValkeyCluster", {"shards": 2}), "spec.shards.*2.*greater than or equal to 3"),
    ("a quorum above the replicas", manifest("Sentinel", {"quorum": 4}), "quorum is 4 with replicas 3: .*from 1 to 3"),
    ("a quorum of none", manifest("Sentinel", {"quorum": 0}), "spec.quorum.*0.*greater than or equal to 1"),
    ("no sentinel at all", manifest("Sentinel", {"replicas": 0}), "spec.replicas.*0.*greater than or equal to 1"),
    (
        "a fence too close to detection",
        manifest("Valkey", {"failover": {"fenceAfterMilliseconds": 2500}}),
        "detectAfterMilliseconds is 3000 and fenceAfterMilliseconds is 2500.*at least 3500",
    ),
    (
        "two sources of certificates",
        manifest("Valkey", {"tls": TWO_SOURCES}),
        "certificateRef issuerRef are given.*keep one",
    ),
    (
        "protocols below the oldest",
        manifest("Valkey", {"tls": {"minVersion": "TLS13", "protocols": ["TLSv1.2"]}}),
        "protocols holds TLSv1.2, which minVersion TLS13 forbids: take",
    ),
    (
        "an unsafe protocol",
        manifest("Valkey", {"tls": {"protocols": ["TLSv1.1"]}}),
        '"TLSv1.1": supported values: "TLSv1.2"',
    ),
    ("two sources of users", manifest("Valkey", {"auth": {"acl": USERS}}), "policyRef users are given.*keep one"),
    ("two passwords", manifest("Valkey", {"auth": PASSWORDS}), "secretRef password are given.*keep one"),
    (
        "a password and none at all",
        manifest("Valkey", {"auth": DISABLED}),
        "disabled is true, yet.*set disabled to false",
    ),
    ("an early rotation", manifest("Valkey", {"tls": {"internal": {"rotateBeforePercent": 50}}}), "50.*66"),
    ("a validity without unit", manifest("Valkey", {"tls": {"internal": {"validity": "90"}}}), 'validity.*"90"'),
    ("a time without unit", manifest("ValkeyCluster", {"cluster": {"nodeTimeout": "15"}}), 'nodeTimeout.*"15"'),
    ("a size that is none", manifest("Valkey", {"persistence": {"size": "10GB"}}), 'persistence.size.*"10GB"'),
    (
        "an unknown kind of fsync",
        manifest("Valkey", {"persistence": {"aof": {"fsync": "often"}}}),
        '"often": supported values',
    ),
    (
        "a namespace in a reference",
        manifest("Valkey", {"sentinel": {"name": "s", "namespace": "x"}}),
        'unknown field "spec.sentinel.namespace"',
    ),
    ("a typo", manifest("Valkey", {"replcias": 3}), 'unknown field "spec.replcias"'),
    (
        "a typo in an embedded type",
        manifest("Valkey", {"resources": {"limit": {}}}),
        'unknown field "spec.resources.limit"',
    ),
    (
        "a typo in a template",
        manifest("ValkeyPool", {"template": {"imgae": "x"}}),
        'unknown field "spec.template.imgae"',
    ),
    ("an owned directive", manifest("Valkey", {"config": {"Bind": "x"}}), "spec.config.Bind is owned.*use service"),
    (
        "an owned pattern",
        manifest("ValkeyCluster", {"config": {"tls-port": 1}}),
        "spec.config.tls-port is owned.*use tls",
    ),
    (
        "an owned directive in a template",
        manifest("ValkeyPool", {"template": {"config": {"user": "x"}}}),
        r"spec.template.config.user is owned.*auth.acl",
    ),
    ("an owned directive of a sentinel", manifest("Sentinel", {"config": {"requirepass": "x"}}), "use auth.password"),
    (
        "a line break",
        manifest("Valkey", {"config": {"maxmemory": "1\nport 1"}}),
        "config.maxmemory is a text with a line break: .*use a list",
    ),
    ("a line break in a list", manifest("Valkey", {"config": {"save": ["1 1", "2 2\n"]}}), "config.save is a list"),
    ("an object as a value", manifest("Valkey", {"config": {"maxmemory": {"a": 1}}}), "config.maxmemory is an object"),
    ("a name that is no directive", manifest("Valkey", {"config": {"max memory": 1}}), "config.max memory is no name"),
    ("a pending epoch that is not above", shard(pending={"epoch": 3}), "pending.epoch is 3, not above epoch 3"),
]


@pytest.mark.parametrize(("bad", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_work_is_refused_with_field_value_and_remedy(cluster: Cluster, bad: Manifest, said: str) -> None:
    accepted, answer = try_out(cluster, bad)
    assert not accepted
    assert re.search(said, answer, re.DOTALL), answer


VOLUME: Manifest = {"enabled": True, "size": "2Gi", "storageClassName": "slow"}
FIRST: Manifest = {"replicas": 0, "podManagementType": "statefulset", "persistence": VOLUME}
CHANGES: list[tuple[str, Manifest, str]] = [
    (
        "podManagementType",
        {"podManagementType": "deployment"},
        'was "statefulset" and would be "deployment"; set it back',
    ),
    (
        "volume taken away",
        {"persistence": VOLUME | {"enabled": False}},
        'persistence.enabled .*was "true" and would be "false"',
    ),
    (
        "another class",
        {"persistence": VOLUME | {"storageClassName": "fast"}},
        'storageClassName .*was "slow" and would be "fast"',
    ),
    (
        "class no longer said",
        {"persistence": {"enabled": True, "size": "2Gi"}},
        'storageClassName .*was "slow" and would be ""',
    ),
    (
        "a smaller size",
        {"persistence": VOLUME | {"size": "1Gi"}},
        "persistence.size is 1Gi and was 2Gi: .*at least 2Gi",
    ),
    ("a size in other words", {"persistence": VOLUME | {"size": "2G"}}, "persistence.size is 2G and was 2Gi"),
]


@pytest.mark.parametrize("kind", ["Valkey", "ValkeyCluster"])
def test_what_cannot_change_is_refused_and_the_rest_may(cluster: Cluster, namespace: str, kind: str) -> None:
    first = manifest(kind, FIRST)
    cluster.apply(first, namespace=namespace)
    for what, change, said in CHANGES:
        accepted, answer = try_to_change(cluster, namespace, first | {"spec": FIRST | change})
        assert not accepted, what
        assert re.search(said, answer), answer
    for change in (
        {"persistence": VOLUME | {"size": "2048Mi"}},
        {"persistence": VOLUME | {"size": "3Gi"}},
        {"image": "x"},
    ):
        accepted, answer = try_to_change(cluster, namespace, first | {"spec": FIRST | change})
        assert accepted, answer


def test_saying_what_was_built_in_is_no_change(cluster: Cluster, namespace: str) -> None:
    first = manifest("Valkey", {"replicas": 0})
    cluster.apply(first, namespace=namespace)
    said = {"replicas": 0, "podManagementType": "statefulset", "persistence": {"enabled": True, "size": "10Gi"}}
    accepted, answer = try_to_change(cluster, namespace, first | {"spec": said})
    assert accepted, answer


RECORD_CHANGES: list[tuple[Manifest, str | None]] = [
    ({"epoch": 2}, "epoch is 2, less than the 3 on record"),
    ({"primary": "example-1"}, 'primary changes from "example-0" to "example-1" within epoch 3: .*epoch 4 or higher'),
    ({"index": 1}, "index cannot change"),
    ({"owner": {"kind": "Valkey", "name": "other"}}, "owner cannot change"),
    ({"primary": "example-1", "epoch": 4}, None),
    ({"promotable": ["example-1"], "pending": {"epoch": 4}}, None),
]


def test_a_shards_record_only_moves_forward(cluster: Cluster, namespace: str) -> None:
    first = shard()
    cluster.apply(first, namespace=namespace)
    for change, said in RECORD_CHANGES:
        accepted, answer = try_to_change(cluster, namespace, first | {"spec": first["spec"] | change})
        assert accepted == (said is None), answer
        assert re.search(said or "", answer), answer
