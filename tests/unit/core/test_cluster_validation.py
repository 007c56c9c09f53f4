"""What a ValkeyCluster cannot be: each problem names the field, its value, and what would be right."""

import re
from typing import Any

import pytest

from tests.support.cluster_render import EVERY_CLUSTER_FIELD, effective
from tests.support.render import MAPS
from valkey_operator.core.cluster.facts import Sleep
from valkey_operator.core.cluster_validation import check_cluster, check_resume, cluster_warnings
from valkey_operator.core.validation import check_supported
from valkey_operator.valkey.info import Version


def problems_of(name: str = "c", maps: dict[str, dict[str, str]] | None = None, **spec: Any) -> list[str]:
    return [each.sentence() for each in check_cluster(name, effective(**spec), Version(9, 1, 0), maps)]


def warnings_of(**spec: Any) -> list[str]:
    return [each.sentence() for each in cluster_warnings(effective(**spec))]


@pytest.mark.parametrize("spec", [{}, EVERY_CLUSTER_FIELD], ids=["minimal", "every field"])
def test_a_sound_spec_has_no_problem(spec: dict[str, Any]) -> None:
    assert problems_of(maps=MAPS, **spec) == []


TABLE: list[tuple[str, dict[str, Any], str]] = [
    ("a name too long for its nodes", {"name": "x" * 46}, "metadata.name is .*46 characters.*at most 45"),
    (
        "more replicas wanted than a shard has",
        {"replicas": 2, "replication": {"minReplicasToWrite": 2}},
        "spec.replication.minReplicasToWrite is 2: .*set replicas to 3",
    ),
    ("an owned directive", {"config": {"cluster-enabled": "no"}}, "cluster-enabled is owned by the operator"),
    (
        "a timeout too short",
        {"cluster": {"nodeTimeout": "100ms"}},
        "spec.cluster.nodeTimeout is '100ms': .*at least 1000 ms",
    ),
    (
        "a timeout too short in config, which wins over the field",
        {"cluster": {"nodeTimeout": "15s"}, "config": {"cluster-node-timeout": 10}},
        "spec.config.cluster-node-timeout is 10: .*at least 1000 ms",
    ),
    (
        "a timeout with a unit in config",
        {"config": {"cluster-node-timeout": "15s"}},
        "spec.config.cluster-node-timeout is '15s': .*whole number of milliseconds.*spec.cluster.nodeTimeout",
    ),
    (
        "replicas that move beside the field for it",
        {"config": {"cluster-allow-replica-migration": True}},
        "spec.config.cluster-allow-replica-migration is true: spec.cluster.migrationBarrier decides",
    ),
    (
        "replicas that stay against the field for it",
        {"cluster": {"migrationBarrier": 1}, "config": {"cluster-allow-replica-migration": "no"}},
        "spec.config.cluster-allow-replica-migration is 'no': spec.cluster.migrationBarrier decides",
    ),
    (
        "replicas that nobody may elect",
        {"config": {"cluster-slave-no-failover": "yes"}},
        "spec.config.cluster-slave-no-failover is owned by the operator",
    ),
    (
        "replicas that may be elected with data of any age",
        {"config": {"cluster-replica-validity-factor": 0}},
        "spec.config.cluster-replica-validity-factor is 0: .*give at least 1, or set spec.durability to Cache",
    ),
    (
        "the same by its former name",
        {"config": {"cluster-slave-validity-factor": "0"}, "durability": "Quorum"},
        "spec.config.cluster-slave-validity-factor is '0': .*data of any age",
    ),
    (
        "votes that are not on disk",
        {"config": {"cluster-config-save-behavior": "best-effort"}},
        "spec.config.cluster-config-save-behavior is 'best-effort': .*vote again.*remove it",
    ),
    (
        "a handover that goes on after the operator has ordered the next",
        {"config": {"cluster-manual-failover-timeout": 60000}},
        "spec.config.cluster-manual-failover-timeout is 60000: .*give 1000 to 5000",
    ),
    (
        "ids that are learned of again at once",
        {"config": {"cluster-blacklist-ttl": 0}},
        "spec.config.cluster-blacklist-ttl is 0: .*at least 10 s",
    ),
    (
        "a log without failures",
        {"config": {"cluster-slot-migration-log-max-len": 0}},
        "spec.config.cluster-slot-migration-log-max-len is 0: .*at least 32",
    ),
    ("another bus port", {"config": {"cluster-port": 7000}}, "spec.config.cluster-port is 7000: .*remove it"),
    (
        "a server that hands over by itself",
        {"config": {"shutdown-on-sigterm": "save failover"}},
        "spec.config.shutdown-on-sigterm is 'save failover': .*take failover out",
    ),
    (
        "more memory than the limit",
        {"resources": {"limits": {"memory": "1Gi"}}, "config": {"maxmemory": "2gb"}},
        "spec.config.maxmemory is '2gb': .*limits.memory is 1Gi; lower it, or raise the limit",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_contradiction_is_named_with_its_remedy(spec: dict[str, Any], expected: str) -> None:
    [found] = problems_of(**spec)
    assert re.search(expected, found), found


def test_a_cache_may_elect_whom_it_likes_and_does_not_stop_for_its_votes() -> None:
    given = {"cluster-replica-validity-factor": 0, "cluster-config-save-behavior": "best-effort"}
    assert problems_of(durability="Cache", config=given) == []


@pytest.mark.parametrize(
    "given",
    [
        {"cluster-replica-validity-factor": 1},
        {"cluster-require-full-coverage": False},
        {"cluster-manual-failover-timeout": 5000, "cluster-blacklist-ttl": 60},
        {"cluster-preferred-endpoint-type": "hostname", "cluster-link-sendbuf-limit": 0},
        {"cluster-allow-pubsubshard-when-down": "no", "cluster-slot-stats-enabled": "yes"},
    ],
    ids=" ".join,
)
def test_what_breaks_no_promise_is_for_users_to_decide(given: dict[str, Any]) -> None:
    assert problems_of(config=given) == []


def test_a_directive_from_a_config_map_is_named_by_its_place() -> None:
    [found] = problems_of(configFrom=[{"name": "shared"}], maps={"shared": {"cluster-port": "7000"}})
    assert found.startswith("spec.configFrom[shared].cluster-port is '7000'")


@pytest.mark.parametrize("name", ["x" * 45, "c"])
def test_a_name_that_leaves_room_for_shard_and_node_is_fine(name: str) -> None:
    assert problems_of(name) == []


def test_memory_up_to_the_limit_is_fine() -> None:
    limits = {"limits": {"memory": "1Gi"}}
    assert problems_of(resources=limits, config={"maxmemory": "1gb"}) == []
    assert problems_of(resources=limits, config={"maxmemory": 0}) == []


def test_failover_by_the_operator_is_not_judged_where_the_servers_elect() -> None:
    assert problems_of(failover={"detectAfterMilliseconds": 2500, "fenceAfterMilliseconds": 2400}) == []


ASLEEP = Sleep(shards=3, replicas=2, asked=3)


def test_a_cluster_resumes_only_with_the_shards_that_it_had() -> None:
    [found] = check_resume(effective(shards=5), ASLEEP)
    assert found.sentence() == (
        "spec.shards is 5: the cluster was suspended with 3, and slots move only while it is awake; "
        "set it to 3, and to 5 once it is Ready"
    )


@pytest.mark.parametrize(
    ("spec", "asleep"), [({"shards": 3}, ASLEEP), ({"shards": 5}, None), ({"shards": 5, "replicas": 0}, ASLEEP)]
)
def test_nothing_is_wrong_with_the_same_shards_with_a_cluster_that_is_awake_or_one_that_stays_asleep(
    spec: dict[str, Any], asleep: Sleep | None
) -> None:
    assert list(check_resume(effective(**spec), asleep)) == []


def test_what_is_seldom_meant_is_warned_of() -> None:
    assert warnings_of() == []
    [lost] = warnings_of(replicas=0, persistence={"enabled": False})
    assert "all data are gone with the pods" in lost
    [barrier] = warnings_of(replicas=2, cluster={"migrationBarrier": 1})
    assert barrier.startswith("spec.cluster.migrationBarrier is 1: no replica ever moves: each shard has 1")


def test_what_this_release_does_not_do_for_a_cluster_is_said() -> None:
    [found] = check_supported(effective(tls={"enabled": True}))
    assert "does not support TLS yet" in found.sentence()
    assert list(check_supported(effective())) == []
