"""What is wrong with an effective spec that the schema cannot see: contradictions, and what defaults brought in.

Owns: the checks, each a function from values to problems. A problem does not stop the rest: it becomes a condition.
Refuses to know: what the API server has already refused, except where defaults could bring it back.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from valkey_operator.api.auth import Acl
from valkey_operator.api.fields import ConfigValue, IntOrString
from valkey_operator.api.node import ValkeyNodeSpec
from valkey_operator.api.replication import LEAST_GAP_MILLISECONDS
from valkey_operator.api.rules import LONGEST_NAME
from valkey_operator.core.effective import (
    EffectivePods,
    EffectiveSentinel,
    EffectiveTls,
    EffectiveValkey,
    EffectiveWorkload,
)
from valkey_operator.core.quantity import parse_quantity
from valkey_operator.valkey.config_keys import replacement_for
from valkey_operator.valkey.config_names import may_exist
from valkey_operator.valkey.info import Version

PLAIN_PORT = 6379
BUS_PORT_DISTANCE = 10000
_UNFIT = ("\n", "\r", "\0")

ConfigMaps = Mapping[str, Mapping[str, str]]
"""The data of the ConfigMaps that `configFrom` names and that exist."""


class Problem(NamedTuple):
    """A field that holds something impossible, and what would be right."""

    field: str
    value: str
    remedy: str

    def sentence(self) -> str:
        """The problem as a person reads it."""
        return f"{self.field} is {self.value}: {self.remedy}"


def check_valkey(
    name: str, spec: EffectiveValkey, version: Version | None = None, maps: ConfigMaps | None = None
) -> list[Problem]:
    """All that is wrong with a Valkey."""
    return [
        *check_name(name, LONGEST_NAME),
        *_check_sentinel_needs_replicas(spec),
        *check_workload(spec, spec.replicas, version, maps or {}),
        *_check_failover(spec),
    ]


def check_sentinel(name: str, spec: EffectiveSentinel) -> list[Problem]:
    """All that is wrong with a Sentinel."""
    quorum = Problem("spec.quorum", str(spec.quorum), f"set it to a number from 1 to {spec.replicas}, the replicas")
    return [
        *check_name(name, LONGEST_NAME),
        *([] if 1 <= spec.quorum <= spec.replicas else [quorum]),
        *_check_pods(spec),
    ]


def check_change(nodes: Iterable[ValkeyNodeSpec], after: EffectiveWorkload) -> list[Problem]:
    """What cannot be changed on nodes that exist, also when a default has changed."""
    return list(dict.fromkeys(problem for node in nodes for problem in _check_node_change(node, after)))


def _check_node_change(node: ValkeyNodeSpec, after: EffectiveWorkload) -> Iterator[Problem]:
    old, new = node.persistence, after.persistence
    had_volume = old is not None and bool(old.enabled)
    if (was := node.pod_management_type or "statefulset") != after.pod_management_type:
        yield _immutable("spec.podManagementType", was, after.pod_management_type)
    if had_volume != new.enabled:
        yield _immutable("spec.persistence.enabled", str(had_volume).lower(), str(new.enabled).lower())
    elif old is not None and had_volume:
        if old.storage_class_name != new.storage_class_name:
            yield _immutable("spec.persistence.storageClassName", old.storage_class_name, new.storage_class_name)
        yield from _check_size(old.size or "0", new.size)


def _check_size(old: IntOrString, new: IntOrString) -> Iterator[Problem]:
    if parse_quantity(new) < parse_quantity(old):
        yield Problem("spec.persistence.size", str(new), f"a volume only grows; give at least {old}")


def warnings_of(spec: EffectiveWorkload) -> list[Problem]:
    """What is allowed and seldom meant; the admission policies say the same where they are installed."""
    persistence = spec.persistence
    written = "rdb" if persistence.rdb.enabled else "aof" if persistence.aof.enabled else None
    if persistence.enabled or written is None:
        return []
    remedy = (
        f"yet {written}.enabled is true: files are written to a temporary volume and are gone with the pod; "
        "set persistence.enabled to true, or switch it off"
    )
    return [Problem("spec.persistence.enabled", "false", remedy)]


def check_supported(spec: EffectiveWorkload) -> Iterator[Problem]:
    """What the API has and this release does not do yet; it is not left out in silence."""
    if isinstance(spec, EffectiveValkey) and spec.sentinel is not None:
        remedy = "this release does not support Sentinel yet; remove it, the operator itself replaces a lost primary"
        yield Problem("spec.sentinel", f'"{spec.sentinel.name}"', remedy)
    if spec.tls.enabled:
        yield Problem("spec.tls.enabled", "true", "this release does not support TLS yet; remove it")
    if spec.auth.acl is not None and spec.auth.acl != Acl():
        yield Problem("spec.auth.acl", "given", "this release does not support ACL users yet; remove it")


def check_name(name: str, longest: int) -> Iterator[Problem]:
    """Names of nodes, Services and labels are made from it."""
    if len(name) > longest:
        remedy = f"it has {len(name)} characters, and nodes and Services add to it; use at most {longest}"
        yield Problem("metadata.name", f'"{name}"', remedy)


def check_config(config: Mapping[str, ConfigValue], place: str, version: Version | None = None) -> Iterator[Problem]:
    """Directives that belong to the operator, do not exist, or could not be written."""
    for key, value in config.items():
        field = f"{place}.{key}"
        if instead := replacement_for(key):
            # Without the value: it may be a password.
            yield Problem(field, "owned by the operator", f"remove it, and use {instead}")
        elif not may_exist(key, version):
            yield Problem(field, shown(value), "Valkey has no such directive; correct its name, or remove it")
        elif any(mark in str(each) for each in _occurrences(value) for mark in _UNFIT):
            yield Problem(field, shown(value), "it holds a line break or NUL; use a list to repeat a directive")


def check_workload(
    spec: EffectiveWorkload, replicas: int, version: Version | None, maps: ConfigMaps
) -> Iterator[Problem]:
    """What can be wrong with servers of any kind; `replicas` are the pods of one shard."""
    yield from _check_writable(spec, replicas)
    yield from _check_pods(spec, version)
    for reference in spec.config_from or []:
        yield from check_config(dict(maps.get(reference.name, {})), f"spec.configFrom[{reference.name}]", version)


def _check_pods(spec: EffectivePods, version: Version | None = None) -> Iterator[Problem]:
    # Sentinels know other directives than servers, so their names are not judged.
    known = version if isinstance(spec, EffectiveWorkload) else Version(99, 0, 0)
    yield from check_config(spec.config or {}, "spec.config", known)
    yield from _check_tls(spec.tls)
    yield from _check_ports(spec)


def _check_tls(tls: EffectiveTls) -> Iterator[Problem]:
    if tls.min_version == "TLS13" and "TLSv1.2" in tls.protocols:
        remedy = "minVersion TLS13 forbids TLSv1.2; take it out of protocols, or set minVersion to TLS12"
        yield Problem("spec.tls.protocols", ", ".join(tls.protocols), remedy)
    if tls.enabled and not tls.disable_plaintext and tls.port == PLAIN_PORT:
        remedy = f"{PLAIN_PORT} is the plain port; choose another, or set disablePlaintext to true"
        yield Problem("spec.tls.port", str(tls.port), remedy)


def _check_ports(spec: EffectivePods) -> Iterator[Problem]:
    server = spec.tls.port if spec.tls.enabled else PLAIN_PORT
    taken = {PLAIN_PORT, server, server + BUS_PORT_DISTANCE}
    if spec.exporter.enabled and spec.exporter.port in taken:
        yield Problem("spec.exporter.port", str(spec.exporter.port), "the server uses this port; choose another")


def _check_failover(spec: EffectiveWorkload) -> Iterator[Problem]:
    detect, fence = spec.failover.detect_after_milliseconds, spec.failover.fence_after_milliseconds
    if detect - fence < LEAST_GAP_MILLISECONDS:
        remedy = f"set it to at least {fence + LEAST_GAP_MILLISECONDS}; fenceAfterMilliseconds is {fence}"
        yield Problem("spec.failover.detectAfterMilliseconds", str(detect), remedy)


def _check_sentinel_needs_replicas(spec: EffectiveValkey) -> Iterator[Problem]:
    if spec.sentinel is not None and spec.replicas == 1:
        yield Problem("spec.replicas", "1", "with a sentinel set it to 0 (suspended) or at least 2, or remove sentinel")


def _check_writable(spec: EffectiveWorkload, replicas: int) -> Iterator[Problem]:
    needed = spec.replication.min_replicas_to_write
    if 0 < replicas <= needed:
        remedy = f"with replicas {replicas} no write would ever be accepted; lower it, or set replicas to {needed + 1}"
        yield Problem("spec.replication.minReplicasToWrite", str(needed), remedy)


def _immutable(field: str, was: object, value: object) -> Problem:
    remedy = f"it cannot change on nodes that exist; {f'set it back to {was}' if was else 'remove it again'}"
    return Problem(field, str(value or "not given"), f"{remedy}, here or in ValkeyOperatorDefaults")


def _occurrences(value: ConfigValue) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def shown(value: ConfigValue) -> str:
    """A value as a person reads it."""
    return repr(value) if isinstance(value, str | list) else str(value).lower()
