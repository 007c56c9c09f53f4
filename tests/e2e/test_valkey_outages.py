"""Servers that restart while the API server or the operator is not there."""

import os
import signal
import time
from typing import Any

import pytest

from testbed.faults import ApiServerDown, broken
from testbed.faults.pod_processes import find_pod, process_named
from testbed.layout import Layout
from tests.e2e.operator_program import without_deployed_operator
from tests.e2e.valkeys import Shop, valkey

pytestmark = pytest.mark.node_faults

AOF = {"aof": {"enabled": True, "fsync": "always"}}
OUTAGE_S = 60


def server_of(shop: Shop, layout: Layout, node: str) -> int:
    """The pid of a server on this machine."""
    name = shop.pod_of(node)["metadata"]["name"]
    return process_named(find_pod(layout, f"{shop.namespace}/{name}"), "valkey", "valkey-server").pid


def restarts(shop: Shop, node: str) -> int:
    [found] = [each for each in shop.pod_of(node)["status"]["containerStatuses"] if each["name"] == "valkey"]
    return int(found["restartCount"])


def wait_for_replica(shop: Shop, node: str) -> None:
    def follows() -> bool | None:
        found = shop.cluster.try_kubectl(
            "exec",
            f"--namespace={shop.namespace}",
            shop.pod_of(node)["metadata"]["name"],
            "--container=valkey",
            "--",
            "valkey-cli",
            "-a",
            shop.password(),
            "--no-auth-warning",
            "ROLE",
        ).stdout.split()
        return True if found[:1] == ["slave"] and "connected" in found else None

    shop.cluster.wait_for(f"{node} to follow again", follows, shop.namespace, deadline_s=90)


def wait_for_control_plane(shop: Shop) -> None:
    """The controllers of Kubernetes take longer than the API server, and every test after this one needs them."""
    name = f"{shop.namespace}-after"

    def made() -> bool | None:
        shop.cluster.try_kubectl("create", "namespace", name)
        return shop.cluster.has_service_account(name)

    shop.cluster.wait_for("the control plane to be back", made, shop.namespace, deadline_s=240)
    shop.cluster.kubectl("delete", "namespace", name, "--wait=false")


def open_two(shop: Shop) -> None:
    shop.apply(valkey("lone", persistence=AOF), valkey("cart", replicas=2, persistence=AOF))
    shop.wait_for_state("Ready", "lone")
    shop.wait_for_state("Ready", "cart")
    shop.write(40)
    shop.write(40, host="lone")


def count_on_lone(shop: Shop) -> Any:
    def counted() -> int | None:
        script = "return #redis.call('KEYS', 'key:*')"
        found = shop.cluster.run_in(
            shop.namespace, "client", "valkey-cli", "-h", "lone", "-a", shop.password("lone-auth"), "EVAL", script, "0"
        ).stdout.strip()
        return int(found) if found.isdecimal() else None

    return shop.cluster.wait_for("an answer of lone", counted, shop.namespace, deadline_s=90)


def test_servers_that_restart_during_an_outage_of_the_api_server_are_there_after_it(shop: Shop, layout: Layout) -> None:
    open_two(shop)
    victims = [server_of(shop, layout, node) for node in ("lone-0", "cart-1")]
    with broken(layout, ApiServerDown()):
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        time.sleep(OUTAGE_S)
    wait_for_control_plane(shop)
    assert count_on_lone(shop) == 40
    wait_for_replica(shop, "cart-1")
    for name in ("lone", "cart"):
        shop.wait_for_state("Ready", name, deadline_s=180)
    shop.write(50)
    shop.wait_for_copies(50, "cart-0", "cart-1")
    assert (restarts(shop, "lone-0"), restarts(shop, "cart-1"), restarts(shop, "cart-0")) == (1, 1, 0)


def test_servers_that_restart_without_an_operator_serve_again_by_the_record(shop: Shop, layout: Layout) -> None:
    open_two(shop)
    with without_deployed_operator(shop.cluster):
        for node in ("lone-0", "cart-1"):
            os.kill(server_of(shop, layout, node), signal.SIGKILL)
        assert count_on_lone(shop) == 40
        shop.write(41, host="lone")
        wait_for_replica(shop, "cart-1")
        shop.write(50)
        shop.wait_for_copies(50, "cart-0", "cart-1")
        assert (restarts(shop, "lone-0"), restarts(shop, "cart-1")) == (1, 1)
    for name in ("lone", "cart"):
        shop.wait_for_state("Ready", name)
