"""Builders for what is rendered: a Valkey called cache in the namespace app, of which a test names what it is about."""

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from valkey_operator.api.node import ValkeyNodeSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core.defaults import effective_valkey
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import NODE_LABEL, Owner, shard_labels
from valkey_operator.core.render.directives import directives_for
from valkey_operator.core.render.node import NodeSource, valkey_node
from valkey_operator.core.render.pod import Site
from valkey_operator.core.render.roll import roll_hash
from valkey_operator.valkey.live import live_settings, settings_digest

OWNER = Owner(kind="Valkey", namespace="app", name="cache", uid="00000000-0000-0000-0000-00000000000a")
NODE = Owner(kind="ValkeyNode", namespace="app", name="cache-0", uid="00000000-0000-0000-0000-00000000000b")
LABELS = shard_labels("Valkey", OWNER.name)
NODE_LABELS = {**LABELS, NODE_LABEL: NODE.name}
SITE = Site(
    operator_namespace="valkey-operator-system",
    report_service="valkey-operator-reports.valkey-operator-system.svc:9444",
    agent_image="valkey-operator:1.2.3",
)
MAPS: dict[str, dict[str, str]] = {"tuning": {"maxmemory": "1gb", "hz": "20"}}

EVERY_FIELD: dict[str, Any] = {
    "replicas": 3,
    "image": "registry.example/valkey:9.1.2",
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "pull"}],
    "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
    "sidecar": {"image": "registry.example/agent:7", "resources": {"limits": {"memory": "64Mi"}}},
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "arch", "operator": "In", "values": ["amd64"]}]}]
            }
        }
    },
    "tolerations": [{"key": "cache", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "podManagementType": "deployment",
    "labels": {"team": "search", "valkey.io/role": "primary", "valkey.io/cluster": "mine"},
    "annotations": {"note": "hello"},
    "securityContext": {"fsGroup": 1000},
    "priorityClassName": "high",
    "terminationGracePeriodSeconds": 60,
    "auth": {"secretRef": {"name": "own", "key": "pass"}},
    "config": {"maxmemory-policy": "allkeys-lru", "io-threads": 4, "client-output-buffer-limit": ["normal 0 0 0"]},
    "configFrom": [{"name": "tuning"}],
    "exporter": {"enabled": True, "image": "exporter:1", "port": 9200, "resources": {"limits": {"memory": "32Mi"}}},
    "persistence": {
        "size": "20Gi",
        "storageClassName": "fast",
        "retention": "Delete",
        "rdb": {"savePolicy": [{"seconds": 60, "changes": 1}], "compression": False},
        "aof": {"enabled": True, "fsync": "always", "rewritePercentage": 50, "rewriteMinSize": "1gb"},
    },
    "replication": {"disklessSync": False, "minReplicasToWrite": 1, "minReplicasMaxLag": 5, "backlogSize": "64mb"},
    "service": {"type": "LoadBalancer", "annotations": {"lb": "internal"}},
    "readService": {"enabled": True, "annotations": {"lb": "reads"}},
    "modules": [{"path": "/modules/json.so", "args": ["x"]}],
    "azDistribution": {"primaryZone": "a", "replicaZones": ["b", "c"], "replicaStrategy": "spread"},
}


def effective(**spec: Any) -> EffectiveValkey:
    return effective_valkey(msgspec.convert(spec, ValkeySpec))


def hash_of(spec: EffectiveValkey) -> str:
    return roll_hash(spec, spec.az_distribution, directives_for(spec, MAPS))


def source(**spec: Any) -> NodeSource:
    merged = effective(**spec)
    directives = directives_for(merged, MAPS)
    return NodeSource(
        owner=OWNER,
        labels=LABELS,
        spec=merged,
        zones=merged.az_distribution,
        directives=directives,
        roll_hash=hash_of(merged),
        settings_digest=settings_digest(live_settings(directives)),
        site=SITE,
    )


def node_manifest(index: int = 0, *, is_its_turn: bool = False, **spec: Any) -> dict[str, Any]:
    return valkey_node(source(**spec), index, is_its_turn=is_its_turn)


def node_spec(**spec: Any) -> ValkeyNodeSpec:
    """As the controller of nodes reads it."""
    return msgspec.convert(node_manifest(**spec)["spec"], ValkeyNodeSpec)


def pod_of(index: int = 0, **spec: Any) -> dict[str, Any]:
    pod: dict[str, Any] = node_manifest(index, **spec)["spec"]["podTemplate"]["spec"]
    return pod


class _Plain(yaml.SafeDumper):
    """A person who reads a manifest looks for values, not for anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def as_yaml(*manifests: Mapping[str, Any]) -> str:
    return yaml.dump_all(manifests, Dumper=_Plain, sort_keys=False, width=120)
