"""From what a user wrote to the effective spec: built in < the operator's namespace < the object's own < the object.

Owns: the merge. Objects merge field by field, lists and scalars replace; an empty object says nothing.
Refuses to know: whether the result makes sense (validation.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.fields import Model
from valkey_operator.api.operator_defaults import DEFAULTS_NAME, DefaultsSpec, ValkeyOperatorDefaults
from valkey_operator.api.pool import ValkeyPoolSpec
from valkey_operator.api.sentinel import SentinelSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core import builtin
from valkey_operator.core.builtin import Values
from valkey_operator.core.effective import EffectiveCluster, EffectivePool, EffectiveSentinel, EffectiveValkey

Layers = Sequence[DefaultsSpec]
"""The ValkeyOperatorDefaults that apply, the weakest first."""

_SECTIONS = ("valkey", "valkeyPool", "valkeyCluster", "sentinel")
# What is right for servers with data is not for Sentinels: sizes, passwords and directives are of another sort.
_NOT_FOR_SENTINELS = ("resources", "auth", "config")
_TLS_SOURCES = ("certificateRef", "issuerRef", "policyRef", "internal")
_TLS_VERSIONS = ("minVersion", "protocols")
_AUTH_SOURCES = ("password", "secretRef")
_ACL_SOURCES = ("users", "policyRef", "configSecretRef")
_PROTOCOLS = {"TLS12": ["TLSv1.2", "TLSv1.3"], "TLS13": ["TLSv1.3"]}


def layers_for(namespace: str, operator_namespace: str, found: Iterable[ValkeyOperatorDefaults]) -> list[DefaultsSpec]:
    """The defaults that apply in a namespace: the operator's, then the namespace's own, which is stronger."""
    by_namespace = {each.metadata.namespace: each.spec for each in found if each.metadata.name == DEFAULTS_NAME}
    places = dict.fromkeys((operator_namespace, namespace))
    return [by_namespace[place] for place in places if place in by_namespace]


def effective_valkey(spec: ValkeySpec, layers: Layers = ()) -> EffectiveValkey:
    """A Valkey's spec with every default."""
    merged = _merge_layers(builtin.VALKEY, [_shared(each) | _section(each, "valkey") for each in layers], spec)
    return msgspec.convert(_derive_workload(merged), EffectiveValkey)


def effective_cluster(spec: ValkeyClusterSpec, layers: Layers = ()) -> EffectiveCluster:
    """A ValkeyCluster's spec with every default."""
    merged = _merge_layers(builtin.CLUSTER, [_shared(each) | _section(each, "valkeyCluster") for each in layers], spec)
    return msgspec.convert(_derive_workload(merged), EffectiveCluster)


def effective_pool(spec: ValkeyPoolSpec, layers: Layers = ()) -> EffectivePool:
    """A ValkeyPool's own fields with every default."""
    merged = _merge_layers(builtin.POOL, [_section(each, "valkeyPool") for each in layers], spec)
    return msgspec.convert(_without(merged, "template"), EffectivePool)


def effective_sentinel(spec: SentinelSpec, layers: Layers = ()) -> EffectiveSentinel:
    """A Sentinel's spec with every default."""
    known = {field.encode_name for field in msgspec.structs.fields(SentinelSpec)}
    shared = [{key: value for key, value in _shared(each).items() if key in known} for each in layers]
    sections = [_section(each, "sentinel") for each in layers]
    pairs = zip(shared, sections, strict=True)
    merged = _merge_layers(builtin.SENTINEL, [_without(own, *_NOT_FOR_SENTINELS) | more for own, more in pairs], spec)
    quorum = merged.get("quorum", merged["replicas"] // 2 + 1)
    return msgspec.convert({**merged, "quorum": quorum, "tls": _derive_tls(merged["tls"])}, EffectiveSentinel)


def merge(weaker: Values, stronger: Values) -> dict[str, Any]:
    """Both, field by field; where both have a value, the stronger one's."""
    return {**weaker, **{key: _merge_values(weaker.get(key), value) for key, value in stronger.items()}}


def _merge_values(weaker: object, stronger: object) -> object:
    if isinstance(weaker, Mapping) and isinstance(stronger, Mapping):
        return merge(weaker, stronger)
    return stronger


def _merge_layers(built_in: Values, layers: Sequence[Values], spec: Model) -> dict[str, Any]:
    merged = dict(built_in)
    for layer in (*layers, msgspec.to_builtins(spec)):
        merged = merge(_give_way(merged, layer), layer)
    return merged


def _give_way(weaker: dict[str, Any], stronger: Values) -> dict[str, Any]:
    """The weaker layer without alternatives to what the stronger one chose: together they would contradict."""
    yielded = dict(weaker)
    if "tls" in weaker and "tls" in stronger:
        yielded["tls"] = _yield_choices(weaker["tls"], stronger["tls"], _TLS_SOURCES, _TLS_VERSIONS)
    if "auth" in weaker and "auth" in stronger:
        yielded["auth"] = _yield_auth(weaker["auth"], stronger["auth"])
    return yielded


def _yield_auth(weaker: Values, stronger: Values) -> Values:
    if stronger.get("disabled"):
        return {"disabled": True}
    given = any(stronger.get(source) for source in (*_AUTH_SOURCES, "acl"))
    acl = _yield_choices(weaker.get("acl", {}), stronger.get("acl", {}), _ACL_SOURCES)
    enabled = {**weaker, **({"disabled": False} if given else {}), **({"acl": acl} if acl else {})}
    return _yield_choices(enabled, stronger, _AUTH_SOURCES)


def _yield_choices(weaker: Values, stronger: Values, *groups: tuple[str, ...]) -> Values:
    chosen = [group for group in groups if any(stronger.get(choice) for choice in group)]
    return _without(weaker, *(choice for group in chosen for choice in group))


def _shared(layer: DefaultsSpec) -> dict[str, Any]:
    return _without(msgspec.to_builtins(layer), *_SECTIONS)


def _section(layer: DefaultsSpec, name: str) -> dict[str, Any]:
    section: dict[str, Any] = msgspec.to_builtins(layer).get(name, {})
    return section


def _derive_workload(merged: dict[str, Any]) -> dict[str, Any]:
    persistence = merged["persistence"]
    rdb = {"enabled": persistence["enabled"], **persistence["rdb"]}
    # With Quorum the server itself stops a primary that lost its replicas: soon, for its agent may be dead.
    least, lag = (1, 2) if merged["durability"] == "Quorum" else (0, 10)
    return {
        **merged,
        "persistence": {**persistence, "rdb": rdb},
        "replication": {"minReplicasToWrite": least, "minReplicasMaxLag": lag, **merged["replication"]},
        "tls": _derive_tls(merged["tls"]),
    }


def _derive_tls(tls: Values) -> dict[str, Any]:
    oldest = tls.get("minVersion") or ("TLS13" if tls.get("protocols") == ["TLSv1.3"] else "TLS12")
    others = any(tls.get(source) for source in _TLS_SOURCES if source != "internal")
    source = {} if others else {"internal": merge(builtin.INTERNAL_CERTIFICATES, tls.get("internal", {}))}
    return {"protocols": _PROTOCOLS[oldest], **tls, "minVersion": oldest, **source}


def _without(values: Values, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}
