"""What is broken: a Valkey, or a ValkeyCluster of one sort or another. Pure."""

import enum
from typing import Any

from testbed.layout import ZONES
from tests.e2e.manifests import Manifest
from tests.e2e.sharded import sharded
from tests.e2e.valkeys import valkey

NAME = "cart"
NODES = 3
"""Of a Valkey."""
SHARDS, NODES_PER_SHARD = 3, 2
"""Of a cluster."""


class Setting(enum.Enum):
    """Where a kind of fault is at home; runs of one setting share what was made for it."""

    VALKEY = "Valkey"
    CLUSTER = "ValkeyCluster"
    CLUSTER_WITHOUT_VOLUMES = "ValkeyCluster without volumes"
    CLUSTER_WITH_AOF = "ValkeyCluster with an append-only file"
    CLUSTER_IN_TWO_ZONES = "ValkeyCluster with two of three primaries in one zone"

    @property
    def is_cluster(self) -> bool:
        return self is not Setting.VALKEY

    @property
    def kind(self) -> str:
        """Of the custom resource."""
        return "valkeycluster" if self.is_cluster else "valkey"

    def manifest(self, durability: str) -> Manifest:
        if not self.is_cluster:
            return valkey(NAME, replicas=NODES, durability=durability)
        return sharded(shards=SHARDS, replicas=NODES_PER_SHARD, durability=durability, **CLUSTER_FIELDS[self])


CLUSTER_FIELDS: dict[Setting, dict[str, Any]] = {
    Setting.CLUSTER: {},
    Setting.CLUSTER_WITHOUT_VOLUMES: {"persistence": {"enabled": False}},
    Setting.CLUSTER_WITH_AOF: {"persistence": {"aof": {"enabled": True, "fsync": "always"}}},
    # Dealt out in turn: shards 0 and 2 are at home in the first one.
    Setting.CLUSTER_IN_TWO_ZONES: {"azDistribution": {"zones": list(ZONES[:2])}},
}
