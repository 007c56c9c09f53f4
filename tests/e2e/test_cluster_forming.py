"""A ValkeyCluster comes up: its slots, its replicas, its Services, what clients and its status say."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.sharded import (
    check_that_all_agree,
    count_keys,
    events,
    fill,
    open_cluster_shop,
    primaries,
    record,
    roles,
    sharded,
    wait_until_well,
)
from tests.e2e.valkeys import Shop
from tests.support.documents import CLUSTER_EXAMPLES


@pytest.fixture(scope="module")
def formed(cluster: Cluster) -> Iterator[Shop]:
    """One cluster for the tests that only look."""
    with cluster.namespace("formed") as namespace:
        shop = open_cluster_shop(cluster, namespace)
        shop.apply(sharded())
        wait_until_well(shop)
        yield shop


def test_all_slots_are_served_and_every_node_sees_the_same(formed: Shop) -> None:
    status = formed.status()
    assert (status["totalReplicas"], status["readyReplicas"]) == (6, 6)
    assert (status["totalShards"], status["readyShards"]) == (3, 3)
    assert [each["slots"] for each in status["shards"]] == ["0-5461", "5462-10922", "10923-16383"]
    check_that_all_agree(formed)


def test_the_first_nodes_are_primaries_and_the_second_ones_follow_them(formed: Shop) -> None:
    assert primaries(formed) == {0: "cart-0-0", 1: "cart-1-0", 2: "cart-2-0"}
    wanted = {f"cart-{shard}-{index}": ("master", "slave")[index] for shard in range(3) for index in range(2)}
    assert roles(formed) == wanted
    labels = {node: pod["metadata"]["labels"]["valkey.io/role"] for node, pod in formed.pods().items()}
    assert labels == {node: {"master": "primary", "slave": "replica"}[role] for node, role in wanted.items()}


def test_a_client_reads_and_writes_through_the_service(formed: Shop) -> None:
    formed.wait_for_service()
    fill(formed)
    assert count_keys(formed) == 500


def test_nodes_announce_what_outlives_their_pods(formed: Shop) -> None:
    lines = formed.say("cart-0-0", "CLUSTER", "NODES").splitlines()
    announced = {line.split()[1].split("@")[0]: line.split()[1].split(",")[1] for line in lines}
    wanted = {
        f"{formed.get('service', node)['spec']['clusterIP']}:6379": f"{node}.{formed.namespace}.svc"
        for node in formed.pods()
    }
    assert announced == wanted


def test_each_shard_has_a_budget_of_its_own(formed: Shop) -> None:
    found = formed.cluster.get("poddisruptionbudgets", namespace=formed.namespace)["items"]
    assert sorted(each["metadata"]["name"] for each in found) == ["cart-0", "cart-1", "cart-2"]


def test_it_is_remembered_that_it_was_formed(formed: Shop) -> None:
    assert record(formed)["formed"] is True
    assert "ClusterFormed" in events(formed)


def test_the_example_runs_as_it_stands(cluster: Cluster, namespace: str) -> None:
    shop = open_cluster_shop(cluster, namespace)
    [file] = CLUSTER_EXAMPLES
    cluster.kubectl("apply", "--server-side", f"--namespace={namespace}", f"--filename={file}")
    shop.wait_for_state("Ready", "sharded", deadline_s=180)


def test_a_service_of_somebody_else_is_left_alone_and_told(cluster: Cluster, namespace: str) -> None:
    shop = open_cluster_shop(cluster, namespace)
    cluster.kubectl("create", "service", "clusterip", "cart", "--tcp=80", f"--namespace={namespace}")
    shop.apply(sharded())
    shop.wait_for_condition("NameConflict", "True")
    cluster.kubectl("delete", "service", "cart", f"--namespace={namespace}")
    wait_until_well(shop)


def test_a_spec_that_cannot_be_carried_out_is_told_and_moves_nothing(cluster: Cluster, namespace: str) -> None:
    shop = open_cluster_shop(cluster, namespace)
    shop.apply(sharded(replicas=1, config={"cluster-port": 7000}))
    shop.wait_for_condition("SpecValid", "False", reason="InvalidSpec")
    assert shop.pods() == {}
    shop.patch("cart", {"config": {"cluster-port": None}})
    wait_until_well(shop)
    before = shop.uids()
    shop.patch("cart", {"shards": 5, "config": {"no-such-directive": "1"}})
    shop.wait_for_condition("SpecValid", "False", reason="InvalidSpec")
    assert shop.uids() == before
