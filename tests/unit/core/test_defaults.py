"""The effective spec: built in < the operator's namespace < the object's namespace < the object."""

import re
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from tools.embedded import kubernetes_type
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.fields import Model
from valkey_operator.api.operator_defaults import DefaultsSpec, ValkeyOperatorDefaults
from valkey_operator.api.pool import ValkeyPoolSpec
from valkey_operator.api.schema import schema_of_model
from valkey_operator.api.sentinel import SentinelSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core import builtin
from valkey_operator.core.defaults import (
    effective_cluster,
    effective_pool,
    effective_sentinel,
    effective_valkey,
    layers_for,
)
from valkey_operator.core.effective import (
    Effective,
    EffectiveCluster,
    EffectivePool,
    EffectiveSentinel,
    EffectiveValkey,
)

SAVE_POLICY = [{"seconds": s, "changes": c} for s, c in ((900, 1), (300, 10), (60, 10000))]


def valkey(**spec: Any) -> dict[str, Any]:
    return flat(effective_valkey(msgspec.convert(spec, ValkeySpec)))


def layer(**spec: Any) -> DefaultsSpec:
    return msgspec.convert(spec, DefaultsSpec)


def flat(value: msgspec.Struct) -> dict[str, Any]:
    """Every leaf by its path, such as `persistence.rdb.enabled`."""
    found: dict[str, Any] = {}

    def walk(part: Any, path: str) -> None:
        if isinstance(part, dict) and part:
            for key, each in part.items():
                walk(each, f"{path}.{key}" if path else key)
        else:
            found[path] = part

    walk(msgspec.to_builtins(value), "")
    return found


VALKEY_TABLE = [
    ("image", "valkey/valkey:9.1"),
    ("replicas", 1),
    ("durability", "Available"),
    ("failover.enabled", True),
    ("failover.detectAfterMilliseconds", 3000),
    ("failover.fenceAfterMilliseconds", 2000),
    ("podManagementType", "statefulset"),
    ("readService.enabled", False),
    ("replication.disklessSync", True),
    ("replication.minReplicasToWrite", 0),
    ("persistence.enabled", True),
    ("persistence.size", "10Gi"),
    ("persistence.retention", "Retain"),
    ("persistence.rdb.enabled", True),
    ("persistence.rdb.compression", True),
    ("persistence.rdb.savePolicy", SAVE_POLICY),
    ("persistence.aof.enabled", False),
    ("persistence.aof.fsync", "everysec"),
    ("persistence.aof.rewritePercentage", 100),
    ("persistence.aof.rewriteMinSize", "64mb"),
    ("tls.enabled", False),
    ("tls.clientAuth", "require"),
    ("tls.port", 6379),
    ("tls.disablePlaintext", True),
    ("tls.replication", True),
    ("tls.clusterBus", True),
    ("tls.internal.validity", "90d"),
    ("exporter.enabled", False),
    ("exporter.port", 9121),
    ("disruption.mode", "Budget"),
    ("auth.disabled", False),
]


@pytest.mark.parametrize(("path", "value"), VALKEY_TABLE, ids=[path for path, _ in VALKEY_TABLE])
def test_a_field_that_nobody_gives_has_its_built_in_value(path: str, value: object) -> None:
    assert valkey()[path] == value


def test_other_kinds_have_their_own_built_in_numbers() -> None:
    cluster = effective_cluster(ValkeyClusterSpec())
    assert (cluster.shards, cluster.replicas, cluster.cluster.node_timeout) == (3, 3, "5s")
    assert cluster.cluster.migration_barrier is None
    assert (effective_pool(ValkeyPoolSpec()).shards, effective_pool(ValkeyPoolSpec()).max_unavailable_shards) == (3, 1)
    sentinel = effective_sentinel(SentinelSpec())
    assert (sentinel.replicas, sentinel.quorum) == (3, 2)
    assert msgspec.structs.astuple(sentinel.default_config) == (30000, 180000, 1)


@pytest.mark.parametrize(("replicas", "quorum"), [(1, 1), (3, 2), (4, 3), (5, 3)])
def test_a_sentinels_quorum_is_the_majority(replicas: int, quorum: int) -> None:
    assert effective_sentinel(SentinelSpec(replicas=replicas)).quorum == quorum


def test_quorum_durability_wants_a_replica_for_each_write() -> None:
    assert valkey(durability="Quorum")["replication.minReplicasToWrite"] == 1
    assert valkey(durability="Quorum")["replication.minReplicasMaxLag"] == 2
    assert valkey(durability="Quorum", replication={"minReplicasToWrite": 2})["replication.minReplicasToWrite"] == 2


def test_without_a_volume_snapshots_are_off_unless_they_are_asked_for() -> None:
    assert valkey(persistence={"enabled": False})["persistence.rdb.enabled"] is False
    assert valkey(persistence={"enabled": False, "rdb": {"enabled": True}})["persistence.rdb.enabled"] is True


@pytest.mark.parametrize(
    ("given", "oldest", "protocols"),
    [
        ({}, "TLS12", ["TLSv1.2", "TLSv1.3"]),
        ({"minVersion": "TLS13"}, "TLS13", ["TLSv1.3"]),
        ({"protocols": ["TLSv1.3"]}, "TLS13", ["TLSv1.3"]),
        ({"protocols": ["TLSv1.2"]}, "TLS12", ["TLSv1.2"]),
    ],
)
def test_protocols_and_the_oldest_of_them_follow_from_each_other(
    given: dict[str, Any], oldest: str, protocols: list[str]
) -> None:
    found = valkey(tls=given)
    assert (found["tls.minVersion"], found["tls.protocols"]) == (oldest, protocols)


def test_each_layer_is_stronger_than_the_one_below() -> None:
    operators = layer(image="a", durability="Cache", persistence={"size": "1Gi", "retention": "Delete"})
    own = layer(image="b", persistence={"size": "2Gi"})
    spec = msgspec.convert({"persistence": {"size": "3Gi"}}, ValkeySpec)
    found = flat(effective_valkey(spec, [operators, own]))
    assert found["durability"] == "Cache"
    assert found["image"] == "b"
    assert found["persistence.size"] == "3Gi"
    assert found["persistence.retention"] == "Delete"


def test_lists_replace_and_an_empty_one_does_too() -> None:
    defaults = layer(tolerations=[{"key": "a"}, {"key": "b"}])
    assert effective_valkey(ValkeySpec(), [defaults]).tolerations == [{"key": "a"}, {"key": "b"}]
    assert effective_valkey(ValkeySpec(tolerations=[{"key": "c"}]), [defaults]).tolerations == [{"key": "c"}]
    assert effective_valkey(ValkeySpec(tolerations=[]), [defaults]).tolerations == []


def test_an_empty_object_says_nothing() -> None:
    defaults = layer(auth={"password": {"secret": {"name": "shared"}}})
    spec = msgspec.convert({"auth": {"password": {}, "acl": {}}, "persistence": {}}, ValkeySpec)
    found = effective_valkey(spec, [defaults]).auth
    assert found.password is not None
    assert found.password.secret is not None
    assert found.password.secret.name == "shared"


def test_sections_of_the_defaults_are_for_their_kind_alone() -> None:
    defaults = layer(valkey={"replicas": 2}, valkeyCluster={"shards": 6, "cluster": {"nodeTimeout": "9s"}})
    assert effective_valkey(ValkeySpec(), [defaults]).replicas == 2
    cluster = effective_cluster(ValkeyClusterSpec(), [defaults])
    assert (cluster.shards, cluster.replicas, cluster.cluster.node_timeout) == (6, 3, "9s")


def test_sentinels_take_images_and_placement_from_the_defaults_but_not_what_is_meant_for_servers() -> None:
    defaults = layer(
        image="mirror/valkey:9.1",
        resources={"limits": {"memory": "64Gi"}},
        config={"maxmemory": "60gb"},
        persistence={"size": "1Ti"},
        sentinel={"replicas": 5, "resources": {"limits": {"memory": "64Mi"}}},
    )
    found = effective_sentinel(SentinelSpec(), [defaults])
    assert (found.image, found.replicas, found.quorum, found.config) == ("mirror/valkey:9.1", 5, 3, None)
    assert found.resources == {"limits": {"memory": "64Mi"}}


@pytest.mark.parametrize(
    ("weaker", "stronger", "kept"),
    [
        ({"certificateRef": {"name": "x"}}, {"issuerRef": {"name": "y"}}, "issuer_ref"),
        ({"issuerRef": {"name": "x"}}, {"internal": {"validity": "1d"}}, "internal"),
        ({"issuerRef": {"name": "x"}}, {}, "issuer_ref"),
        ({}, {}, "internal"),
    ],
)
def test_exactly_one_source_of_certificates_remains(
    weaker: dict[str, Any], stronger: dict[str, Any], kept: str
) -> None:
    found = effective_valkey(msgspec.convert({"tls": stronger}, ValkeySpec), [layer(tls=weaker)]).tls
    sources = ("certificate_ref", "issuer_ref", "policy_ref", "internal")
    assert [source for source in sources if getattr(found, source) is not None] == [kept]


def test_a_password_in_the_spec_ends_what_the_defaults_say_about_having_none() -> None:
    spec = msgspec.convert({"auth": {"secretRef": {"name": "own"}}}, ValkeySpec)
    assert effective_valkey(spec, [layer(auth={"disabled": True})]).auth.disabled is False


def test_no_authentication_in_the_spec_ends_what_the_defaults_say_about_passwords() -> None:
    spec = msgspec.convert({"auth": {"disabled": True}}, ValkeySpec)
    found = effective_valkey(spec, [layer(auth={"secretRef": {"name": "shared"}})]).auth
    assert (found.disabled, found.secret_ref) == (True, None)


def in_namespace(namespace: str, image: str, name: str = "valkey-operator-defaults") -> ValkeyOperatorDefaults:
    manifest = {"metadata": {"name": name, "namespace": namespace}, "spec": {"image": image}}
    return msgspec.convert(manifest, ValkeyOperatorDefaults)


def test_defaults_of_the_operators_namespace_come_first_and_others_do_not_count() -> None:
    found = [
        in_namespace("app", "b"),
        in_namespace("system", "a"),
        in_namespace("else", "c"),
        in_namespace("app", "d", "x"),
    ]
    assert [each.image for each in layers_for("app", "system", found)] == ["a", "b"]
    assert [each.image for each in layers_for("system", "system", found)] == ["a"]
    assert layers_for("app", "system", []) == []


PAIRS: list[tuple[type[Model], type[Effective], set[str]]] = [
    (ValkeySpec, EffectiveValkey, set()),
    (ValkeyClusterSpec, EffectiveCluster, set()),
    (ValkeyPoolSpec, EffectivePool, {"template"}),
    (SentinelSpec, EffectiveSentinel, set()),
]


@pytest.mark.parametrize(("spec", "effective", "left_out"), PAIRS)
def test_no_field_of_a_spec_is_missing_from_its_effective_form(
    spec: type[Model], effective: type[Effective], left_out: set[str]
) -> None:
    def compare(given: Any, merged: Any) -> None:
        assert {field.name for field in msgspec.structs.fields(given)} - left_out == set(merged.__struct_fields__)
        given_types, merged_types = get_type_hints(given), get_type_hints(merged)
        for name in merged.__struct_fields__:
            inner, outer = struct_in(given_types[name]), struct_in(merged_types[name])
            if outer is not None and issubclass(outer, Effective):
                compare(inner, outer)

    compare(spec, effective)


def struct_in(annotation: Any) -> Any:
    choices = [annotation, *get_args(annotation)]
    return next((each for each in choices if isinstance(each, type) and issubclass(each, msgspec.Struct)), None)


TEXTS = [
    (ValkeySpec, builtin.VALKEY),
    (ValkeyClusterSpec, builtin.CLUSTER),
    (ValkeyPoolSpec, builtin.POOL),
    (SentinelSpec, builtin.SENTINEL),
]


@pytest.mark.parametrize(("model", "values"), TEXTS)
def test_the_text_of_a_field_names_its_built_in_value(model: type[Model], values: Any) -> None:
    def compare(schema: dict[str, Any], value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                compare(schema["properties"][key], each, f"{path}.{key}")
        elif not isinstance(value, list):
            said = re.search(r"Built in: ([^ ,;]+)", schema["description"])
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            assert said is not None, path
            assert said[1].rstrip(".") == shown, path

    compare(schema_of_model(model, kubernetes_type), dict(values), "spec")
