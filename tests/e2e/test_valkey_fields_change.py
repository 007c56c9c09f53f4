"""A spec that changes: pods are replaced one at a time, replicas first, and no write that was confirmed is lost."""

import itertools
from datetime import datetime
from typing import Any

import pytest

from tests.e2e.valkeys import CLIENT, Shop, valkey

AOF = {"aof": {"enabled": True}}
# Writes one key after the other, and notes which were confirmed.
WRITER = """
i=0
while [ ! -e /data/stop ]; do
  i=$((i+1))
  [ "$(timeout 2 valkey-cli -h cart -a "$0" --no-auth-warning SET w:$i $i 2>&1)" = OK ] && echo $i >> /data/confirmed
done
echo done > /data/stopped
"""


def start_writing(shop: Shop) -> None:
    begin = f"rm -f /data/stop /data/stopped /data/confirmed; nohup bash -c '{WRITER}' \"$0\" >/dev/null 2>&1 &"
    shop.cluster.say_in(shop.namespace, CLIENT, "bash", "-c", begin, shop.password())
    wait_for_writes(shop, 1)


def wait_for_writes(shop: Shop, least: int) -> None:
    def enough() -> bool | None:
        return True if len(confirmed(shop)) >= least else None

    shop.cluster.wait_for(f"{least} confirmed writes", enough, shop.namespace)


def confirmed(shop: Shop) -> list[str]:
    return shop.cluster.run_in(shop.namespace, CLIENT, "cat", "/data/confirmed").stdout.split()


def stop_writing(shop: Shop) -> list[str]:
    """The keys that were confirmed."""
    shop.cluster.say_in(shop.namespace, CLIENT, "touch", "/data/stop")
    shop.cluster.wait_for_answer(shop.namespace, CLIENT, "cat", "/data/stopped", expected="done")
    return confirmed(shop)


def lost(shop: Shop, node: str, keys: list[str]) -> set[str]:
    have = shop.say(node, "EVAL", "return redis.call('KEYS', 'w:*')", "0").split()
    return {f"w:{key}" for key in keys} - set(have)


def wait_for_roll(shop: Shop, before: dict[str, str]) -> Any:
    """The status, once every pod is another one and all is well."""

    def rolled() -> Any:
        status, uids = shop.status(), shop.uids()
        all_new = uids.keys() == before.keys() and not set(uids.values()) & set(before.values())
        return status if all_new and status.get("state") == "Ready" else None

    return shop.cluster.wait_for("every pod to be replaced", rolled, shop.namespace, deadline_s=180)


def ask_role(shop: Shop, host: str) -> tuple[str, ...]:
    ask = f"valkey-cli -h {host} -a {shop.password()} --no-auth-warning ROLE"
    return ("bash", "-c", f"set -o pipefail; timeout 2 {ask} | head -1")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ready_since(pod: Any) -> datetime:
    return next(moment(each["lastTransitionTime"]) for each in pod["status"]["conditions"] if each["type"] == "Ready")


@pytest.mark.parametrize("kind", ["statefulset", "deployment"])
def test_a_change_replaces_one_pod_at_a_time_and_the_old_primary_last(shop: Shop, kind: str) -> None:
    shop.apply(
        valkey(
            replicas=3,
            persistence=AOF,
            podManagementType=kind,
            exporter={"enabled": True},
            readService={"enabled": True},
        )
    )
    shop.wait_for_state("Ready")
    assert shop.get("valkeynode", "cart-1")["status"]["managedResourceKind"].lower() == kind
    shop.write(200)
    before = shop.uids()
    start_writing(shop)

    shop.patch("cart", {"annotations": {"example.com/round": "2"}, "exporter": {"enabled": False}})
    status = wait_for_roll(shop, before)
    wait_for_writes(shop, len(confirmed(shop)) + 3)
    keys = stop_writing(shop)

    pods = sorted(shop.pods().values(), key=lambda pod: moment(pod["metadata"]["creationTimestamp"]))
    order = [pod["metadata"]["labels"]["valkey.io/node"] for pod in pods]
    assert order[-1] == "cart-0", order
    assert status["primary"] != "cart-0"
    for former, later in itertools.pairwise(pods):
        assert ready_since(former) <= moment(later["metadata"]["creationTimestamp"]), order
    assert all(pod["metadata"]["annotations"]["example.com/round"] == "2" for pod in pods)
    reasons = {event["reason"] for event in shop.cluster.get("events", namespace=shop.namespace)["items"]}
    assert {"SwitchoverStarted", "SwitchoverDone"} <= reasons

    # Both Services have followed the roles.
    shop.cluster.wait_for_answer(shop.namespace, CLIENT, *ask_role(shop, "cart"), expected="master")
    shop.cluster.wait_for_answer(shop.namespace, CLIENT, *ask_role(shop, "cart-read"), expected="slave")
    shop.wait_for_copies(200, "cart-0", "cart-1", "cart-2")
    assert lost(shop, status["primary"], keys) == set()
    # The exporter went with the roll, and its Service too.
    assert {len(pod["spec"]["containers"]) for pod in pods} == {1}
    assert not shop.exists("service", "cart-metrics")
    assert "exporter" not in status


def test_a_deployment_is_replaced_on_its_turn_only_and_keeps_its_data(shop: Shop) -> None:
    shop.apply(valkey(podManagementType="deployment", persistence=AOF))
    shop.wait_for_state("Ready")
    assert shop.get("deployment", "cart-0")["spec"]["strategy"] == {"type": "Recreate"}
    shop.write(100)

    shop.scale(2)
    shop.wait_for_state("Ready")
    shop.wait_for_copies(100, "cart-0", "cart-1")
    # The template of the primary's Deployment waits until the replica is done, and with it the pod.
    before = shop.uids()
    shop.patch("cart", {"terminationGracePeriodSeconds": 25})
    wait_for_roll(shop, before)
    shop.wait_for_copies(100, "cart-0", "cart-1")

    # What needs no restart waits for the next one: a Deployment with another template would restart at once.
    before = shop.uids()
    shop.patch("cart", {"imagePullPolicy": "IfNotPresent", "sidecar": {"image": "valkey-operator:none"}})
    shop.wait_for_state("Ready")
    template = shop.get("deployment", "cart-0")["spec"]["template"]["spec"]
    assert template["initContainers"][0]["image"] != "valkey-operator:none"
    assert shop.uids() == before
    shop.patch("cart", {"sidecar": None})

    primary = shop.status()["primary"]
    replica = next(node for node in shop.uids() if node != primary)
    before = shop.uids()
    shop.delete_pod(replica)

    def back() -> bool | None:
        uids = shop.uids()
        same = uids.get(primary) == before[primary]
        other = uids.get(replica) not in (None, before[replica])
        return True if same and other and shop.status().get("readyReplicas") == 2 else None

    shop.cluster.wait_for("another pod for the one that was deleted", back, shop.namespace, deadline_s=90)
    shop.wait_for_copies(100, "cart-0", "cart-1")
