"""A machine that is cut off with most primaries of a ValkeyCluster: it takes no more writes, and the others take all.

How fast that goes, and what is lost, is measured by the fault suite (cluster-node-cut-two).
"""

from binascii import crc_hqx
from collections import Counter
from collections.abc import Mapping

import pytest

from testbed.commands import attempt
from testbed.faults import NodeCut, broken
from testbed.faults.pod_processes import find_pod, process_named
from testbed.layout import ZONES, Layout
from tests.e2e.cluster import Cluster
from tests.e2e.machines import machine_of
from tests.e2e.sharded import (
    SLOTS,
    check_that_all_agree,
    events,
    open_cluster_shop,
    primaries,
    sharded,
    wait_until_well,
)
from tests.e2e.valkeys import Shop

pytestmark = pytest.mark.node_faults

SHARDS = 3
WITHIN_S = 90
"""The servers' own timeout, the time in which leave runs out, and a new leader if the present one is cut off too."""


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    return open_cluster_shop(cluster, namespace)


def key_of(shard: int) -> str:
    """A key in the slots that a shard of three has at first."""
    names = (f"key:{number}" for number in range(1000))
    return next(name for name in names if crc_hqx(name.encode(), 0) % SLOTS * SHARDS // SLOTS == shard)


def servers_of(shop: Shop, layout: Layout) -> dict[str, int]:
    """The process id of each node's server, on this machine."""
    names = {node: f"{shop.namespace}/{shop.pod_of(node)['metadata']['name']}" for node in shop.pods()}
    return {node: process_named(find_pod(layout, name), "valkey", "valkey-server").pid for node, name in names.items()}


def answer_of(server: int, password: str, key: str) -> str:
    """What a server says to a write; also one that neither the API server nor any client reaches."""
    inside = ("nsenter", f"--target={server}", "--net", "--mount")
    return attempt([*inside, "valkey-cli", "-a", password, "--no-auth-warning", "SET", key, "1"]).stdout.strip()


def machine_of_two(shop: Shop) -> str:
    """A machine with two of the three primaries."""

    def found() -> str | None:
        counts = Counter(machine_of(shop, primary) for primary in primaries(shop).values() if primary)
        return next((machine for machine, count in counts.items() if count == SHARDS - 1), None)

    return shop.cluster.wait_for("a machine with two primaries", found, shop.namespace, deadline_s=120)


def takers(servers: Mapping[str, int], password: str, shard: int) -> set[str]:
    """Which of the nodes take a write to a shard's slots."""
    return {node for node, server in servers.items() if answer_of(server, password, key_of(shard)) == "OK"}


def test_most_primaries_on_a_machine_that_is_cut_off_are_replaced_and_take_no_more_writes(
    shop: Shop, layout: Layout
) -> None:
    shop.apply(sharded(shards=SHARDS, azDistribution={"zones": [*ZONES[:2]]}))
    wait_until_well(shop)
    machine = machine_of_two(shop)
    servers, password = servers_of(shop, layout), shop.password()
    there = {node: server for node, server in servers.items() if machine_of(shop, node) == machine}
    here = {node: server for node, server in servers.items() if node not in there}

    def all_are_written_here() -> bool | None:
        return True if all(takers(here, password, shard) for shard in range(SHARDS)) else None

    with broken(layout, NodeCut(machine)):
        shop.cluster.wait_for("all slots to take writes", all_are_written_here, shop.namespace, deadline_s=WITHIN_S)
        assert not [shard for shard in range(SHARDS) if takers(there, password, shard)]
        answers = {answer_of(server, password, key_of(shard)) for server in there.values() for shard in range(SHARDS)}
        assert any("NOREPLICAS" in answer or "CLUSTERDOWN" in answer for answer in answers), answers
        assert {"LeaveEnds", "TakeoverOrdered"} <= events(shop)
    wait_until_well(shop)
    check_that_all_agree(shop)
    assert "LeaveGivenAgain" in events(shop)
