"""A primary that is lost without a word: who takes over, who must not, and what is said meanwhile.

How fast that goes, and that nothing is lost that was promised, is measured by the fault suite.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.commands import attempt
from testbed.faults import ApiServerDown, NodeCut, Partition, Pause, PodFreeze, broken
from testbed.faults.pod_processes import find_pod, process_named
from testbed.layout import Layout
from tests.e2e.cluster import OPERATOR_NAMESPACE
from tests.e2e.manifests import pod
from tests.e2e.operator_program import without_deployed_operator
from tests.e2e.valkeys import CLIENT, Shop, valkey

pytestmark = pytest.mark.node_faults

NODES = ("cart-0", "cart-1", "cart-2")
OUTAGE_S, LONG_OUTAGE_S = 20, 600


def open_cart(shop: Shop, **spec: Any) -> None:
    """Three nodes that hold the same, and a client that is not on the primary's machine."""
    shop.apply(valkey(replicas=3, **spec))
    shop.wait_for_state("Ready")
    shop.write(100)
    shop.wait_for_copies(100, *NODES)
    shop.cluster.kubectl("delete", "pod", CLIENT, f"--namespace={shop.namespace}", "--grace-period=1")
    shop.apply(pod(CLIENT, node=machine_of(shop, "cart-2")))
    shop.cluster.wait_for_pods(shop.namespace, CLIENT)


def server_of(shop: Shop, layout: Layout, node: str) -> int:
    """The process id of a node's server."""
    return process_named(find_pod(layout, pod_name(shop, node)), "valkey", "valkey-server").pid


def machine_of(shop: Shop, node: str) -> str:
    return str(shop.pod_of(node)["spec"]["nodeName"])


def pod_name(shop: Shop, node: str) -> str:
    return f"{shop.namespace}/{shop.pod_of(node)['metadata']['name']}"


def wait_for_successor(shop: Shop, former: str = "cart-0") -> str:
    def other() -> str | None:
        found = shop.status().get("primary")
        return str(found) if found not in (former, None) else None

    return shop.cluster.wait_for(f"another primary than {former}", other, shop.namespace, deadline_s=30)


def write_to_successor(shop: Shop) -> str:
    """Another one than the first node takes over, and takes writes; which. What was written before is not repeated."""
    successor = wait_for_successor(shop)
    shop.write(50, prefix="key:later")
    return successor


def wait_until_whole(shop: Shop, *, primary: str) -> None:
    """Who was lost is back and follows, and everybody has all that was written."""
    shop.wait_for_state("Ready", deadline_s=180)
    shop.wait_for_copies(150, *NODES)
    assert shop.status()["primary"] == primary
    assert shop.say("cart-0", "ROLE").startswith("slave")


def events(shop: Shop) -> set[str]:
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return {event["reason"] for event in found if event["involvedObject"]["kind"] == "Valkey"}


def answer_to_a_write(shop: Shop) -> str:
    """What the first node says; asked in its pod, so that no network is needed."""
    return shop.say("cart-0", "SET", "probe", "1")


def answer_of(server: int, password: str) -> str:
    """What the server of this process says to a write; also one that neither the API server nor any client reaches."""
    inside = ("nsenter", f"--target={server}", "--net", "--mount")
    return attempt([*inside, "valkey-cli", "-a", password, "--no-auth-warning", "SET", "probe", "1"]).stdout.strip()


@contextlib.contextmanager
def alone(shop: Shop, layout: Layout) -> Iterator[None]:
    """The first node and the others do not reach each other."""
    with contextlib.ExitStack() as cuts:
        for other in NODES[1:]:
            partition = Partition.between(layout, pod_name(shop, "cart-0"), pod_name(shop, other))
            cuts.enter_context(broken(layout, partition))
        yield


@contextlib.contextmanager
def out_of_sight(shop: Shop, layout: Layout) -> Iterator[None]:
    """Neither operator nor API server reach the first node, and no pod is brought to its machine; its replicas do."""
    machine, node = machine_of(shop, "cart-0"), pod_name(shop, "cart-0")
    operators = shop.cluster.kubectl("get", "pods", OPERATOR_NAMESPACE, "--output=jsonpath={.items[*].metadata.name}")
    shop.cluster.kubectl("taint", "node", machine, "unseen=true:NoSchedule")
    try:
        with contextlib.ExitStack() as cuts:
            for one, other in [
                (machine, "apiserver"),
                *((node, f"valkey-operator-system/{each}") for each in operators.split()),
            ]:
                cuts.enter_context(broken(layout, Partition.between(layout, one, other)))
            yield
    finally:
        shop.cluster.kubectl("taint", "node", machine, "unseen-")


def test_a_replica_takes_over_when_the_primarys_machine_is_cut_off(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    former, password = server_of(shop, layout, "cart-0"), shop.password()
    with broken(layout, NodeCut(machine_of(shop, "cart-0"))):
        successor = write_to_successor(shop)
        assert "NOREPLICAS" in answer_of(former, password)
        assert {"FailoverStarted", "PrimaryLost"} <= events(shop)
    wait_until_whole(shop, primary=successor)


def test_a_primary_that_was_frozen_comes_back_as_a_replica(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    with broken(layout, PodFreeze.of(layout, pod_name(shop, "cart-0"))):
        successor = write_to_successor(shop)
    wait_until_whole(shop, primary=successor)


def test_a_server_that_hangs_is_killed_and_replaced(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    hung = server_of(shop, layout, "cart-0")
    with broken(layout, Pause.of(layout, pod_name(shop, "cart-0"), container="valkey", process="valkey-server")):
        successor = write_to_successor(shop)
        assert not Path(f"/proc/{hung}").exists()
    wait_until_whole(shop, primary=successor)


def test_who_shall_go_takes_over_first_where_the_primary_has_died_and_nobody_has_told(
    shop: Shop, layout: Layout
) -> None:
    open_cart(shop)
    with broken(layout, Pause.of(layout, pod_name(shop, "cart-0"), container="agent")):
        os.kill(server_of(shop, layout, "cart-0"), signal.SIGKILL)
        shop.scale(1)
        write_to_successor(shop)
    shop.cluster.wait_for("one node", lambda: list(shop.pods()) == ["cart-0"] or None, shop.namespace)
    shop.wait_for_state("Ready")
    shop.wait_for_copies(150, "cart-0")


def test_a_pod_that_is_deleted_by_force_hands_over_while_it_can(shop: Shop) -> None:
    open_cart(shop)
    shop.delete_pod("cart-0", force=True)
    successor = write_to_successor(shop)
    assert "SwitchoverDone" in events(shop)
    wait_until_whole(shop, primary=successor)


def test_a_pod_that_is_deleted_by_force_and_runs_on_writes_no_more_when_another_one_does(
    shop: Shop, layout: Layout
) -> None:
    open_cart(shop)
    servers, password = {node: server_of(shop, layout, node) for node in NODES}, shop.password()
    former = servers.pop("cart-0")

    def taken() -> bool | None:
        return True if any(answer_of(server, password) == "OK" for server in servers.values()) else None

    with out_of_sight(shop, layout):
        shop.delete_pod("cart-0", force=True)
        shop.cluster.wait_for("writes to be taken by another one", taken, shop.namespace)
        assert "NOREPLICAS" in answer_of(former, password)
        successor = write_to_successor(shop)
    wait_until_whole(shop, primary=successor)


def test_nobody_takes_over_while_the_operator_reaches_the_primary(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    with alone(shop, layout):
        time.sleep(8)
        assert answer_to_a_write(shop) == "OK"
        assert shop.status()["primary"] == "cart-0"
    shop.wait_for_state("Ready", deadline_s=120)
    assert "FailoverStarted" not in events(shop)


def test_a_primary_that_nobody_lets_write_refuses_writes_until_somebody_does(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    with without_deployed_operator(shop.cluster):
        with alone(shop, layout), broken(layout, Partition.between(layout, pod_name(shop, "cart-0"), "apiserver")):
            shop.cluster.wait_for(
                "writes to be refused", lambda: "NOREPLICAS" in answer_to_a_write(shop) or None, shop.namespace
            )
        shop.cluster.wait_for(
            "writes to be taken again", lambda: answer_to_a_write(shop) == "OK" or None, shop.namespace
        )


@pytest.mark.timeout(LONG_OUTAGE_S + 600)
def test_with_half_of_its_replicas_a_primary_needs_neither_operator_nor_api_server(
    shop: Shop, layout: Layout, request: pytest.FixtureRequest
) -> None:
    open_cart(shop)
    server, password = server_of(shop, layout, "cart-0"), shop.password()
    cut = Partition.between(layout, pod_name(shop, "cart-0"), pod_name(shop, "cart-1"))
    lasts_s = LONG_OUTAGE_S if request.config.getoption("--full") else OUTAGE_S
    with without_deployed_operator(shop.cluster), broken(layout, cut), broken(layout, ApiServerDown()):
        time.sleep(lasts_s)
        assert answer_of(server, password) == "OK"
    # Had it lost its licence, its log would tell.
    log = shop.cluster.kubectl("logs", shop.pod_of("cart-0")["metadata"]["name"], f"--namespace={shop.namespace}",
                               "--container=agent")  # fmt: skip
    assert "writes are refused" not in log
    os.kill(server, 0)
    shop.wait_for_state("Ready", deadline_s=180)
    assert shop.status()["primary"] == "cart-0"


def test_with_quorum_nobody_takes_over_who_might_lack_what_was_confirmed(shop: Shop, layout: Layout) -> None:
    open_cart(shop, durability="Quorum")
    with broken(layout, PodFreeze.of(layout, pod_name(shop, "cart-1"))):
        os.kill(server_of(shop, layout, "cart-0"), signal.SIGKILL)

        def told() -> bool | None:
            return True if "set spec.durability to Available" in (shop.status().get("message") or "") else None

        shop.cluster.wait_for("the status to say why", told, shop.namespace)
        assert shop.status()["state"] == "Degraded"
    successor = write_to_successor(shop)
    wait_until_whole(shop, primary=successor)


def test_with_available_a_replica_that_is_silent_holds_nobody_up(shop: Shop, layout: Layout) -> None:
    open_cart(shop)
    with broken(layout, PodFreeze.of(layout, pod_name(shop, "cart-1"))):
        os.kill(server_of(shop, layout, "cart-0"), signal.SIGKILL)
        assert write_to_successor(shop) == "cart-2"
    wait_until_whole(shop, primary="cart-2")


def test_with_quorum_a_primary_that_does_not_reach_its_replicas_is_replaced(shop: Shop, layout: Layout) -> None:
    open_cart(shop, durability="Quorum")
    with alone(shop, layout):
        successor = write_to_successor(shop)
    wait_until_whole(shop, primary=successor)


def test_with_quorum_a_primary_stays_and_the_status_tells_where_its_only_replica_could_not_write_either(
    shop: Shop, layout: Layout
) -> None:
    shop.apply(valkey(replicas=2, durability="Quorum"))
    shop.wait_for_state("Ready")
    with broken(layout, Partition.between(layout, pod_name(shop, "cart-0"), pod_name(shop, "cart-1"))):

        def told() -> bool | None:
            return True if shop.status().get("reason") == "TooFewReplicas" else None

        shop.cluster.wait_for("the status to say why", told, shop.namespace)
        assert "NOREPLICAS" in answer_to_a_write(shop)
    shop.wait_for_state("Ready", deadline_s=180)
    assert shop.status()["primary"] == "cart-0"
    shop.write(100)
