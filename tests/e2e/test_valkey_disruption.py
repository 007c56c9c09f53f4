"""Drains, evictions and cordons: one pod of a shard at a time, and a primary hands over before it goes."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, is_ready
from tests.e2e.machines import all_uncordoned, drain, machine_of, may_be_evicted
from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import Shop, valkey

pytestmark = [pytest.mark.node_faults, pytest.mark.usefixtures("layout"), pytest.mark.timeout(900)]

AOF = {"aof": {"enabled": True, "fsync": "always"}}
LOOKED_AT_S = 3
# What is written into the record when a primary is lost instead of handing over.
LOSSES = {"PrimaryRestarted", "AllRestarted", "PrimaryRemoved"}


@pytest.fixture
def machines(cluster: Cluster) -> Iterator[list[str]]:
    with all_uncordoned(cluster) as names:
        yield names


def events(shop: Shop) -> list[tuple[str, str]]:
    found = shop.cluster.get("events", namespace=shop.namespace)["items"]
    return [(event["reason"], event["message"]) for event in found if event["involvedObject"]["kind"] == "Valkey"]


def writers(shop: Shop) -> list[str]:
    return [node for node in shop.pods() if shop.say(node, "ROLE").splitlines()[0] == "master"]


def wait_for_primary_elsewhere(shop: Shop, machine: str) -> str:
    """The primary, once it is on another machine than this."""

    def elsewhere() -> str | None:
        primary: str | None = shop.status().get("primary")
        return primary if primary and machine_of(shop, primary) != machine else None

    return shop.cluster.wait_for(f"a primary that is not on {machine}", elsewhere, shop.namespace)


def wait_for_budget(shop: Shop, least: object) -> None:
    def made() -> bool | None:
        spec = shop.get("pdb", "cart")["spec"] if shop.exists("pdb", "cart") else {}
        return True if spec.get("minAvailable") == least else None

    shop.cluster.wait_for(f"a budget of {least}", made, shop.namespace)


def test_a_primary_hands_over_when_its_machine_is_cordoned_and_nobody_restarts(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=3, persistence=AOF))
    former = shop.wait_for_state("Ready")["primary"]
    running, machine = shop.uids(), machine_of(shop, former)
    with steady_writes(shop):
        shop.cluster.kubectl("cordon", machine)
        primary = wait_for_primary_elsewhere(shop, machine)
    assert (shop.uids(), writers(shop)) == (running, [primary])
    message = f"{former} hands over to {primary}: its machine is cordoned"
    assert ("SwitchoverStarted", message) in events(shop)

    # The primary's last: they are cordoned one after the other, and it would be better off elsewhere for a moment.
    shop.cluster.kubectl("cordon", *sorted(machines, key=lambda each: each == machine_of(shop, primary)))
    time.sleep(LOOKED_AT_S)
    assert shop.status()["primary"] == primary, "nobody is better off"


def test_a_drain_of_every_machine_in_turn_never_loses_a_primary_or_a_write(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=3, persistence=AOF))
    shop.wait_for_state("Ready")
    with steady_writes(shop):
        for machine in machines:
            drain(shop, machine).wait()
            shop.wait_for_state("Ready", deadline_s=180)
            assert len(writers(shop)) == 1
            assert machine not in {machine_of(shop, node) for node in shop.pods()}
            shop.cluster.kubectl("uncordon", machine)
    assert {reason for reason, _ in events(shop)} & LOSSES == set()


def test_two_machines_drained_at_once_let_go_of_one_pod_after_the_other(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=3, persistence=AOF))
    shop.wait_for_state("Ready")
    fewest = 3
    with steady_writes(shop):
        drains = [drain(shop, machine) for machine in machines[:2]]
        while not all(each.has_ended() for each in drains):
            found = shop.cluster.get("pods", namespace=shop.namespace, selector="valkey.io/cluster=cart")["items"]
            # One that is being stopped may serve for a while yet, and nobody should count on it.
            staying = [pod for pod in found if is_ready(pod) and "deletionTimestamp" not in pod["metadata"]]
            fewest = min(fewest, len(staying))
            time.sleep(0.1)
        for each in drains:
            each.wait()
        shop.wait_for_state("Ready", deadline_s=180)
    assert fewest == 2, "all but one pod are there all the time, and one was missing at some"
    assert {machine_of(shop, node) for node in shop.pods()} == {machines[2]}
    assert len(writers(shop)) == 1
    assert {reason for reason, _ in events(shop)} & LOSSES == set()


def test_there_is_a_budget_where_it_protects_something_and_none_where_it_only_stops_drains(shop: Shop) -> None:
    shop.apply(valkey(replicas=1))
    shop.wait_for_state("Ready")
    assert not shop.exists("pdb", "cart")
    assert may_be_evicted(shop, "cart-0")

    for replicas, least in ((3, 2), (2, 1)):
        shop.scale(replicas)
        shop.wait_for_state("Ready")
        wait_for_budget(shop, least)
    wait_for_answer_of_budget(shop)

    for change in ({"replicas": 0}, {"replicas": 2}, {"disruption": {"mode": "None"}}):
        shop.patch("cart", change)
        wanted = change == {"replicas": 2}
        shop.cluster.wait_for(
            f"the budget to be there: {wanted}",
            lambda: True if shop.exists("pdb", "cart") == wanted else None,  # noqa: B023 - called at once
            shop.namespace,
        )
        shop.wait_for_state("Suspended" if change == {"replicas": 0} else "Ready")


def wait_for_answer_of_budget(shop: Shop) -> Any:
    """What Kubernetes makes of it: one may go."""

    def judged() -> Any:
        status = shop.get("pdb", "cart").get("status", {})
        known = status.get("observedGeneration") == shop.get("pdb", "cart")["metadata"]["generation"]
        return status if known and status.get("disruptionsAllowed") == 1 else None

    return shop.cluster.wait_for("one disruption to be allowed", judged, shop.namespace)


def test_the_machine_of_a_single_pod_can_be_drained_and_the_pod_comes_back(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=1, persistence=AOF))
    shop.wait_for_state("Ready")
    shop.write(20)
    machine = machine_of(shop, "cart-0")
    drain(shop, machine).wait()
    shop.wait_for_copies(20, "cart-0")
    assert machine_of(shop, "cart-0") in set(machines) - {machine}


def test_guarded_pods_go_only_one_by_one_when_the_operator_has_prepared_it(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=3, persistence=AOF, disruption={"mode": "Guarded"}))
    former = shop.wait_for_state("Ready")["primary"]
    wait_for_budget(shop, "100%")
    time.sleep(LOOKED_AT_S)
    assert [node for node in shop.pods() if may_be_evicted(shop, node)] == []

    machine = machine_of(shop, former)
    with steady_writes(shop):
        shop.cluster.kubectl("cordon", machine)
        wait_for_primary_elsewhere(shop, machine)
        shop.cluster.wait_for(
            f"{former} alone to be let go",
            lambda: True if [each for each in shop.pods() if may_be_evicted(shop, each)] == [former] else None,
            shop.namespace,
        )
        other, last = [each for each in machines if each != machine]
        for going in [drain(shop, machine), drain(shop, other)]:
            going.wait()
        shop.wait_for_state("Ready", deadline_s=180)
    assert {machine_of(shop, node) for node in shop.pods()} == {last}
    assert {reason for reason, _ in events(shop)} & LOSSES == set()


def test_a_guarded_single_pod_is_not_evicted(shop: Shop, machines: list[str]) -> None:
    shop.apply(valkey(replicas=1, disruption={"mode": "Guarded"}))
    shop.wait_for_state("Ready")
    wait_for_budget(shop, "100%")
    shop.cluster.kubectl("cordon", *machines)
    time.sleep(LOOKED_AT_S)
    assert not may_be_evicted(shop, "cart-0")
