"""A primary and its replicas: who follows whom, what Ready means, scaling, suspending."""

from typing import Any

import pytest

from tests.e2e.valkeys import Shop, valkey

AOF = {"aof": {"enabled": True, "fsync": "always"}}


def lead_from(shop: Shop, node: str) -> None:
    """Make a node primary."""
    shop.wait_for_state("Ready")
    shop.cluster.kubectl("annotate", "valkey", "cart", f"--namespace={shop.namespace}", f"valkey.io/primary={node}")
    shop.cluster.wait_for(
        f"{node} to be primary",
        lambda: True if shop.status().get("primary") == node else None,
        shop.namespace,
    )
    shop.wait_for_state("Ready")


def wait_for_other_primary(shop: Shop, former: str) -> None:
    def other() -> bool | None:
        return True if shop.status().get("primary") not in (former, None) else None

    shop.cluster.wait_for(f"another primary than {former}", other, shop.namespace)


def replica_answers(shop: Shop) -> set[str]:
    """What clients of the read Service are told about the server's role."""
    shop.wait_for_service("cart-read")
    return {shop.call("cart-read", "ROLE").splitlines()[0] for _ in range(6)}


def test_pod_0_is_the_first_primary_and_all_others_follow_it(shop: Shop) -> None:
    shop.apply(valkey(replicas=3, readService={"enabled": True}))
    shop.wait_for_state("Ready")

    def all_told() -> Any:
        """A pod may be Ready before its agent has told the operator of its role."""
        status = shop.status()
        return status if status.get("replicas") == ["cart-1", "cart-2"] else None

    status = shop.cluster.wait_for("both replicas in the status", all_told, shop.namespace)
    assert (status["primary"], status["readyReplicas"]) == ("cart-0", 3)
    shop.write(50)
    primary = shop.get("service", "cart-0")["spec"]["clusterIP"]
    for node in ("cart-1", "cart-2"):
        link = dict(line.split(":", 1) for line in shop.say(node, "INFO", "replication").splitlines() if ":" in line)
        assert (link["master_host"], link["master_link_status"].strip()) == (primary, "up")
    shop.wait_for_copies(50, "cart-0", "cart-1", "cart-2")
    assert replica_answers(shop) == {"slave"}
    assert shop.call("cart", "ROLE").splitlines()[0] == "master"
    zones = {node["zone"] for node in status["nodes"]}
    assert len(zones) == 3, "pods of one shard prefer different zones"


def test_a_replica_is_ready_only_when_its_copy_is_whole(shop: Shop) -> None:
    shop.apply(valkey(replicas=1))
    shop.wait_for_state("Ready")
    shop.write(1000)
    # The primary lets the new replica wait for others before it begins the copy.
    assert shop.say("cart-0", "CONFIG", "SET", "repl-diskless-sync-delay", "15") == "OK"
    shop.scale(2)

    def copying() -> bool | None:
        status = shop.get("valkeynode", "cart-1").get("status", {}) if shop.exists("valkeynode", "cart-1") else {}
        return True if status.get("observedRole") == "replica" else None

    shop.cluster.wait_for("cart-1 to be a replica", copying, shop.namespace)
    pod = shop.pod_of("cart-1")
    ready = {each["type"]: each["status"] for each in pod["status"]["conditions"]}["Ready"]
    assert (ready, shop.count("cart-1")) == ("False", 0)
    assert shop.status()["readyReplicas"] == 1

    shop.wait_for_state("Ready")
    assert shop.count("cart-1") == 1000


def test_it_scales_out_and_in_and_the_primary_is_never_lost(shop: Shop) -> None:
    shop.apply(valkey(replicas=3))
    lead_from(shop, "cart-2")
    shop.write(200)

    shop.scale(1)
    assert shop.wait_for_state("Ready")["primary"] == "cart-0"
    assert shop.count("cart-0") == 200
    assert not shop.exists("valkeynode", "cart-2")
    events = shop.cluster.get("events", namespace=shop.namespace)["items"]
    assert {"SwitchoverStarted", "SwitchoverDone"} <= {event["reason"] for event in events}

    shop.scale(4)
    assert shop.wait_for_state("Ready")["readyReplicas"] == 4
    shop.wait_for_copies(200, "cart-0", "cart-1", "cart-2", "cart-3")


@pytest.mark.parametrize("persistence", [AOF, {}], ids=["aof", "rdb"])
def test_suspended_it_keeps_its_volumes_and_resumes_from_the_newest_copy(shop: Shop, persistence: object) -> None:
    shop.apply(valkey(replicas=3, persistence=persistence))
    lead_from(shop, "cart-1")
    shop.write(300)

    shop.scale(0)
    shop.wait_for_state("Suspended")
    left = shop.cluster.get("pods", namespace=shop.namespace, selector="valkey.io/cluster=cart")["items"]
    assert [pod for pod in left if "deletionTimestamp" not in pod["metadata"]] == []
    assert shop.exists("pvc", "cart-1-data")

    shop.scale(3)
    status = shop.wait_for_state("Ready")
    assert status["primary"] == "cart-1"
    shop.wait_for_copies(300, "cart-0", "cart-1", "cart-2")


def test_resumed_with_fewer_nodes_the_newest_copy_is_fetched_from_a_node_that_then_goes(shop: Shop) -> None:
    shop.apply(valkey(replicas=2, persistence=AOF))
    lead_from(shop, "cart-1")
    shop.scale(0)
    shop.wait_for_state("Suspended")
    shop.cluster.kubectl("delete", "pvc", "cart-0-data", f"--namespace={shop.namespace}")

    shop.scale(1)
    status = shop.wait_for_state("Ready")
    assert status["primary"] == "cart-0"
    assert not shop.exists("valkeynode", "cart-1")


def test_a_new_valkey_takes_up_the_volumes_that_one_of_its_name_has_left(shop: Shop) -> None:
    shop.apply(valkey(replicas=2, persistence=AOF))
    lead_from(shop, "cart-1")
    shop.write(120)
    shop.cluster.kubectl("delete", "valkey", "cart", f"--namespace={shop.namespace}")

    def gone() -> bool | None:
        pods = shop.cluster.get("pods", namespace=shop.namespace, selector="valkey.io/cluster=cart")["items"]
        return None if pods else True

    shop.cluster.wait_for("the pods to be gone", gone, shop.namespace)
    assert shop.exists("pvc", "cart-1-data")

    shop.apply(valkey(replicas=2, persistence=AOF))
    assert shop.wait_for_state("Ready")["primary"] == "cart-1"
    shop.wait_for_copies(120, "cart-0", "cart-1")


def test_with_retention_delete_the_volumes_go_with_their_nodes(shop: Shop) -> None:
    shop.apply(valkey(replicas=2, persistence={"retention": "Delete"}))
    shop.wait_for_state("Ready")
    shop.scale(1)
    shop.wait_for_state("Ready")

    def one_left() -> bool | None:
        return True if not shop.exists("pvc", "cart-1-data") else None

    shop.cluster.wait_for("the second volume to go", one_left, shop.namespace)
    assert shop.exists("pvc", "cart-0-data")
    shop.scale(0)
    shop.wait_for_state("Suspended")
    assert shop.exists("pvc", "cart-0-data"), "suspending keeps volumes whatever the retention is"

    shop.cluster.kubectl("delete", "valkey", "cart", f"--namespace={shop.namespace}")
    shop.cluster.wait_for(
        "the last volume to go", lambda: None if shop.exists("pvc", "cart-0-data") else True, shop.namespace
    )


@pytest.mark.parametrize("persistence", [{"enabled": False}, AOF], ids=["no volume", "aof"])
def test_a_primary_that_lost_its_memory_does_not_feed_its_replicas(shop: Shop, persistence: object) -> None:
    shop.apply(valkey(replicas=3, persistence=persistence))
    shop.wait_for_state("Ready")
    shop.write(400)
    shop.call("cart", "WAIT", "2", "5000")

    shop.kill_server("cart-0")
    wait_for_other_primary(shop, "cart-0")
    shop.wait_for_copies(400, "cart-0", "cart-1", "cart-2")
