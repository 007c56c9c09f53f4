"""What the nodes of a cluster's shards are made from: names, labels, zones, directives, Services."""

from typing import Any

import pytest

from tests.support.cluster_render import EVERY_CLUSTER_FIELD, OWNER, effective, node_manifest, source
from tests.support.render import MAPS
from valkey_operator.core.names import pods_of, shard_labels
from valkey_operator.core.render.budget import disruption_budget
from valkey_operator.core.render.cluster import digest_in_zone, home_zones, node_timeout_s
from valkey_operator.core.render.directives import directives_for, origin_of
from valkey_operator.core.render.services import cluster_services
from valkey_operator.valkey.config_keys import is_live

ZONE = "topology.kubernetes.io/zone"
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def node_affinity(shard: int, index: int, **zones: Any) -> dict[str, Any]:
    pod = node_manifest(index, shard=shard, azDistribution=zones)["spec"]["podTemplate"]["spec"]
    found: dict[str, Any] = pod["affinity"].get("nodeAffinity", {})
    return found


def directives(**spec: Any) -> dict[str, list[str]]:
    return directives_for(effective(**spec), MAPS)


def told_to_the_agent(**spec: Any) -> set[str]:
    [agent] = node_manifest(**spec)["spec"]["podTemplate"]["spec"]["initContainers"]
    return {each["name"].removeprefix("VALKEY_AGENT_") for each in agent["env"]}


@pytest.mark.parametrize(("shard", "zone"), [(0, "a"), (1, "b"), (2, "c"), (3, "a")])
def test_the_first_node_of_each_shard_is_bound_to_a_zone_in_turn(shard: int, zone: str) -> None:
    [term] = node_affinity(shard, 0, zones=["a", "b", "c"])[REQUIRED]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ZONE, "operator": "In", "values": [zone]}]


@pytest.mark.parametrize("strategy", ["anti-affinity", "spread"])
def test_replicas_prefer_other_zones_than_that_of_their_first_node(strategy: str) -> None:
    found = node_affinity(4, 1, zones=["a", "b", "c"], replicaStrategy=strategy)
    assert REQUIRED not in found
    [preferred] = found[PREFERRED]
    assert preferred["preference"]["matchExpressions"] == [{"key": ZONE, "operator": "NotIn", "values": ["b"]}]


def test_primaries_move_back_to_their_zones_unless_the_user_wants_no_failback() -> None:
    assert home_zones(effective(azDistribution={"zones": ["a", "b"]})) == ("a", "b")
    assert home_zones(effective(azDistribution={"zones": ["a", "b"], "failback": "Never"})) == ()
    assert home_zones(effective()) == ()


def test_without_zones_no_node_is_bound_to_any() -> None:
    assert [node_affinity(0, index) for index in (0, 1)] == [{}, {}]


def test_pods_keep_apart_from_those_of_their_own_shard() -> None:
    pod = node_manifest(shard=2)["spec"]["podTemplate"]["spec"]
    terms = pod["affinity"]["podAntiAffinity"][PREFERRED]
    labels = pods_of(shard_labels("ValkeyCluster", "c", 2))
    assert {str(term["podAffinityTerm"]["labelSelector"]) for term in terms} == {str({"matchLabels": labels})}


def test_nodes_are_named_after_cluster_shard_and_index() -> None:
    assert node_manifest(2, shard=11)["metadata"]["name"] == "c-11-2"


def test_no_record_decides_about_starts_where_the_servers_elect_their_primaries() -> None:
    assert "SHARD" not in told_to_the_agent()
    assert {"NODE", "OPERATOR", "CLUSTER", "PEERS"} <= told_to_the_agent()


def test_fields_of_the_cluster_become_directives() -> None:
    assert {
        "cluster-node-timeout": ["5000"],
        "cluster-ping-interval": ["500"],
        "replica-read-only": ["yes"],
        "cluster-allow-reads-when-down": ["no"],
        "cluster-allow-replica-migration": ["no"],
    }.items() <= directives().items()
    assert "cluster-migration-barrier" not in directives()


def test_nodes_ping_each_other_more_often_where_they_are_to_be_missed_sooner_unless_the_user_says_how_often() -> None:
    assert directives(cluster={"nodeTimeout": "2s"})["cluster-ping-interval"] == ["200"]
    assert directives(config={"cluster-ping-interval": 0})["cluster-ping-interval"] == ["0"]


def test_a_barrier_lets_replicas_move_by_themselves() -> None:
    found = directives(cluster={"migrationBarrier": 2})
    assert found["cluster-allow-replica-migration"] == ["yes"]
    assert found["cluster-migration-barrier"] == ["2"]


def test_a_field_of_the_cluster_is_named_as_the_origin_of_its_directive() -> None:
    spec = effective(cluster={"nodeTimeout": "15s"})
    assert origin_of("cluster-node-timeout", spec, {}).field == "spec.cluster.nodeTimeout"
    assert origin_of("cluster-require-full-coverage", spec, {}) == ("spec.config.cluster-require-full-coverage", None)


def test_every_directive_of_the_cluster_reaches_servers_that_run() -> None:
    of_the_cluster = directives(**EVERY_CLUSTER_FIELD).keys() - {"min-replicas-to-write", "io-threads"}
    assert [name for name in of_the_cluster if not is_live(name)] == []


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({}, 5.0),
        ({"cluster": {"nodeTimeout": "1500ms"}}, 1.5),
        ({"cluster": {"nodeTimeout": "1m"}}, 60.0),
        ({"cluster": {"nodeTimeout": "15s"}, "config": {"cluster-node-timeout": "2000"}}, 2.0),
    ],
)
def test_plans_know_the_timeout_that_the_servers_have(spec: dict[str, Any], seconds: float) -> None:
    assert node_timeout_s(directives(**spec)) == seconds


def test_a_node_tells_the_zone_it_was_seen_in_unless_the_user_says_another() -> None:
    def zone_in(manifest: dict[str, Any]) -> Any:
        return manifest["spec"]["valkeyConfig"]["directives"].get("availability-zone")

    assert zone_in(node_manifest()) is None
    assert zone_in(node_manifest(zone="b")) == ["b"]
    assert zone_in(node_manifest(zone="b", config={"availability-zone": "own"})) == ["own"]


def test_the_zone_is_a_live_setting_and_replaces_no_pod() -> None:
    shard = source()
    assert digest_in_zone(shard, None) == shard.settings_digest
    assert digest_in_zone(shard, "b") != shard.settings_digest
    assert node_manifest(zone="b")["spec"]["podTemplate"] == node_manifest()["spec"]["podTemplate"]


def test_all_shards_have_the_same_hash_where_no_zones_part_them() -> None:
    assert len({source(shard).roll_hash for shard in range(4)}) == 1
    zones = {"zones": ["a", "b"]}
    hashes = [source(shard, azDistribution=zones).roll_hash for shard in range(4)]
    assert hashes[:2] == hashes[2:]


def test_the_replicas_that_a_write_needs_take_a_new_pod_since_nobody_tells_a_server_of_terms() -> None:
    assert source(replication={"minReplicasToWrite": 1}).roll_hash != source().roll_hash
    assert source(cluster={"nodeTimeout": "9s"}).roll_hash == source().roll_hash


def test_any_ready_node_of_any_shard_is_found_by_the_name_of_the_cluster() -> None:
    found = {each["metadata"]["name"]: each["spec"] for each in cluster_services(OWNER, effective())}
    everybody = {"valkey.io/kind": "ValkeyCluster", "valkey.io/cluster": "c"}
    assert {name: spec["selector"] for name, spec in found.items()} == {"c": everybody, "c-nodes": everybody}
    assert "publishNotReadyAddresses" not in found["c"]


def test_the_budgets_of_two_shards_have_no_pod_in_common() -> None:
    budgets = [
        disruption_budget(OWNER, shard_labels("ValkeyCluster", "c", shard), effective(), replicas=3, next_eviction=None)
        for shard in (0, 1)
    ]
    names = [each["metadata"]["name"] for each in budgets if each]
    shards = [each["spec"]["selector"]["matchLabels"]["valkey.io/shard"] for each in budgets if each]
    assert (names, shards) == (["c-0", "c-1"], ["0", "1"])
