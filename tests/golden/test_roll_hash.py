"""The hash that decides whether a pod is replaced. If a value here changes, every pod of every user restarts.

A change of these pins is never a mere update: it needs a decision, a note in CHANGELOG.md, and a reason.
"""

from typing import Any

import pytest

from tests.support.render import EVERY_FIELD, effective, hash_of
from valkey_operator.core.defaults import merge

PINNED = {"minimal": "de3e80db723a4182", "every field": "1bb07b2140382876"}
SPECS: dict[str, dict[str, Any]] = {"minimal": {}, "every field": EVERY_FIELD}


@pytest.mark.parametrize("name", SPECS)
def test_the_hash_is_the_one_it_always_was(name: str) -> None:
    assert hash_of(effective(**SPECS[name])) == PINNED[name]


RESTARTS: list[tuple[str, dict[str, Any]]] = [
    ("image", {"image": "valkey/valkey:9.2"}),
    ("pull secrets", {"imagePullSecrets": [{"name": "other"}]}),
    ("resources", {"resources": {"limits": {"memory": "3Gi"}}}),
    ("resources of the agent", {"sidecar": {"resources": {"limits": {"memory": "65Mi"}}}}),
    ("node selector", {"nodeSelector": {"disk": "hdd"}}),
    ("affinity", {"affinity": {"podAffinity": {}}}),
    ("tolerations", {"tolerations": []}),
    ("spread constraints", {"topologySpreadConstraints": []}),
    ("labels", {"labels": {"team": "ads"}}),
    ("annotations", {"annotations": {"note": "bye"}}),
    ("security context", {"securityContext": {"fsGroup": 1001}}),
    ("priority class", {"priorityClassName": "low"}),
    ("grace period", {"terminationGracePeriodSeconds": 61}),
    ("modules", {"modules": [{"path": "/modules/json.so"}]}),
    ("no modules at all", {"modules": []}),
    ("a directive that needs a restart", {"config": {"databases": 32}}),
    ("a directive that old servers cannot change", {"config": {"io-threads": 8}}),
    ("a directive of a module", {"config": {"search.workers": 4}}),
    ("a directive that later servers only read in a file", {"config": {"dynamic-hz": True}}),
    ("where the password is", {"auth": {"secretRef": {"name": "another"}}}),
    ("an exporter no more", {"exporter": {"enabled": False}}),
    ("image of the exporter", {"exporter": {"image": "exporter:2"}}),
    ("zone of the primary", {"azDistribution": {"primaryZone": "b"}}),
    ("strategy of zones", {"azDistribution": {"replicaStrategy": "anti-affinity"}}),
    ("label of zones", {"azDistribution": {"nodeLabel": "rack"}}),
]

STAYS: list[tuple[str, dict[str, Any]]] = [
    ("replicas", {"replicas": 5}),
    ("suspended", {"replicas": 0}),
    ("image of the agent", {"sidecar": {"image": "registry.example/agent:8"}}),
    ("pull policy", {"imagePullPolicy": "Never"}),
    ("size of the volume", {"persistence": {"size": "30Gi"}}),
    ("retention", {"persistence": {"retention": "Retain"}}),
    ("snapshots", {"persistence": {"rdb": {"savePolicy": [{"seconds": 1, "changes": 1}]}}}),
    ("append-only file", {"persistence": {"aof": {"enabled": False}}}),
    ("a directive that a running server takes", {"config": {"maxmemory": "2gb", "maxmemory-policy": "noeviction"}}),
    ("replication", {"replication": {"minReplicasToWrite": 2, "backlogSize": "1gb"}}),
    ("durability", {"durability": "Quorum"}),
    ("failover", {"failover": {"enabled": False}}),
    ("type of the Service", {"service": {"type": "ClusterIP"}}),
    ("annotations of the Service", {"service": {"annotations": {"lb": "external"}}}),
    ("the read Service", {"readService": {"enabled": False}}),
    ("disruption", {"disruption": {"mode": "None"}}),
    ("update strategy", {"updateStrategy": {"type": "OnApproval"}}),
    ("failback", {"azDistribution": {"failback": "Never"}}),
    ("monitoring by Prometheus", {"exporter": {"serviceMonitor": True, "rules": True, "dashboard": True}}),
]


@pytest.mark.parametrize(("what", "change"), RESTARTS, ids=[what for what, _ in RESTARTS])
def test_a_change_that_only_a_new_pod_can_take_changes_the_hash(what: str, change: dict[str, Any]) -> None:
    assert hash_of(effective(**merge(EVERY_FIELD, change))) != hash_of(effective(**EVERY_FIELD)), what


@pytest.mark.parametrize(("what", "change"), STAYS, ids=[what for what, _ in STAYS])
def test_any_other_change_leaves_the_pods_alone(what: str, change: dict[str, Any]) -> None:
    assert effective(**merge(EVERY_FIELD, change)) != effective(**EVERY_FIELD), what
    assert hash_of(effective(**merge(EVERY_FIELD, change))) == hash_of(effective(**EVERY_FIELD)), what


def test_every_field_of_a_spec_is_in_one_of_the_tables() -> None:
    """So that a new field is not forgotten; `podManagementType` and `sentinel` cannot change or need no pod."""
    known = {field for _, change in RESTARTS + STAYS for field in change}
    later = {"podManagementType", "sentinel", "tls", "operatorMtls", "configFrom"}
    assert set(effective().__struct_encode_fields__) - later == known


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"resources": {}}, {}),
        ({"labels": {}}, {}),
        ({"imagePullSecrets": []}, {}),
        ({"image": "valkey/valkey:9.1"}, {}),
        (
            {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
            {"resources": {"limits": {"memory": "1Gi", "cpu": "1"}}},
        ),
        ({"config": {"DATABASES": 32}}, {"config": {"databases": "32"}}),
        ({"config": {"maxmemory": "1gb", "slave-priority": 7}}, {}),
        ({"azDistribution": {"replicaStrategy": "anti-affinity"}}, {}),
    ],
)
def test_two_ways_to_say_the_same_have_the_same_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert hash_of(effective(**one)) == hash_of(effective(**other))
