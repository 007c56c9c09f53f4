"""The built-in values of every field that has one, as they would be written in a manifest.

The text of each field in `kubectl explain` names the same value; a test compares both.
Not here, because it follows from other fields: replication.minReplicasToWrite, tls.minVersion and tls.protocols, a
Sentinel's quorum, persistence.rdb.enabled without a volume. See defaults.py.
"""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]

_ZONES: Values = {
    "nodeLabel": "topology.kubernetes.io/zone",
    "replicaStrategy": "anti-affinity",
    "failback": "Automatic",
}
_PODS: Values = {
    "image": "valkey/valkey:9.1",
    "podManagementType": "statefulset",
    "tls": {
        "enabled": False,
        "certKey": "tls.crt",
        "keyKey": "tls.key",
        "caKey": "ca.crt",
        "clientAuth": "require",
        "port": 6379,
        "disablePlaintext": True,
        "replication": True,
        "clusterBus": True,
    },
    "auth": {"disabled": False},
    "exporter": {
        "enabled": False,
        "image": "oliver006/redis_exporter:latest",
        "port": 9121,
        "serviceMonitor": False,
        "rules": False,
        "dashboard": False,
    },
    "operatorMtls": {"clientCertValidity": "90d", "rotateBeforePercent": 66},
}
_WORKLOAD: Values = {
    **_PODS,
    "durability": "Available",
    "persistence": {
        "enabled": True,
        "size": "10Gi",
        "retention": "Retain",
        "rdb": {
            "savePolicy": [
                {"seconds": 900, "changes": 1},
                {"seconds": 300, "changes": 10},
                {"seconds": 60, "changes": 10000},
            ],
            "compression": True,
        },
        "aof": {"enabled": False, "fsync": "everysec", "rewritePercentage": 100, "rewriteMinSize": "64mb"},
    },
    "replication": {"disklessSync": True},
    "failover": {"enabled": True, "detectAfterMilliseconds": 3000, "fenceAfterMilliseconds": 2000},
    "service": {"type": "ClusterIP"},
    "readService": {"enabled": False, "type": "ClusterIP"},
    "disruption": {"mode": "Budget"},
    "updateStrategy": {"type": "Automatic"},
}

VALKEY: Values = {**_WORKLOAD, "replicas": 1, "azDistribution": _ZONES}
CLUSTER: Values = {
    **_WORKLOAD,
    "shards": 3,
    "replicas": 3,
    "cluster": {"nodeTimeout": "5s", "replicaReadOnly": True, "allowReadsWhenDown": False},
    "azDistribution": _ZONES,
}
POOL: Values = {"shards": 3, "maxUnavailableShards": 1, "azDistribution": _ZONES}
SENTINEL: Values = {
    **_PODS,
    "replicas": 3,
    "defaultConfig": {"downAfterMilliseconds": 30000, "failoverTimeout": 180000, "parallelSyncs": 1},
}
INTERNAL_CERTIFICATES: Values = {"validity": "90d", "rotateBeforePercent": 66}
