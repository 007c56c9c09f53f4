"""Builders for what is rendered of a ValkeyCluster called c in the namespace app; a test names what it is about."""

from typing import Any

import msgspec

from tests.support.render import EVERY_FIELD, MAPS, SITE
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.node import ValkeyNodeSpec
from valkey_operator.core.defaults import effective_cluster
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.names import NODE_LABEL, Owner, shard_labels
from valkey_operator.core.render.cluster import shard_source
from valkey_operator.core.render.node import NodeSource, valkey_node

OWNER = Owner(kind="ValkeyCluster", namespace="app", name="c", uid="00000000-0000-0000-0000-00000000000c")
NODE = Owner(kind="ValkeyNode", namespace="app", name="c-1-0", uid="00000000-0000-0000-0000-00000000000d")
LABELS = shard_labels("ValkeyCluster", OWNER.name, 1)
NODE_LABELS = {**LABELS, NODE_LABEL: NODE.name}

_OF_A_VALKEY = ("azDistribution",)
EVERY_CLUSTER_FIELD: dict[str, Any] = {
    **{field: value for field, value in EVERY_FIELD.items() if field not in _OF_A_VALKEY},
    "shards": 5,
    "cluster": {
        "nodeTimeout": "15s",
        "replicaReadOnly": False,
        "allowReadsWhenDown": True,
        "migrationBarrier": 1,
    },
    "azDistribution": {"zones": ["a", "b", "c"], "nodeLabel": "rack", "replicaStrategy": "spread"},
}


def effective(**spec: Any) -> EffectiveCluster:
    return effective_cluster(msgspec.convert(spec, ValkeyClusterSpec))


def source(shard: int = 1, **spec: Any) -> NodeSource:
    return shard_source(OWNER, effective(**spec), MAPS, shard=shard, site=SITE)


def node_manifest(index: int = 0, *, shard: int = 1, zone: str | None = None, **spec: Any) -> dict[str, Any]:
    return valkey_node(source(shard, **spec), index, zone=zone)


def node_spec(**spec: Any) -> ValkeyNodeSpec:
    """As the controller of nodes reads it."""
    return msgspec.convert(node_manifest(**spec)["spec"], ValkeyNodeSpec)
