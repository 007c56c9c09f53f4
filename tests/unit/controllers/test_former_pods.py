"""Pods that are gone: which have ended, and which have only vanished."""

from typing import Any

import msgspec

from valkey_operator.controllers.former_pods import FormerPods
from valkey_operator.controllers.kinds import PodObject
from valkey_operator.kube.store import Store

RUNNING: dict[str, Any] = {"running": {}}
TERMINATED: dict[str, Any] = {"terminated": {"exitCode": 0}}


def pod(version: int, *, server: dict[str, Any], agent: dict[str, Any]) -> PodObject:
    manifest = {
        "metadata": {"namespace": "shop", "name": "cart-0-0", "uid": "first", "resourceVersion": str(version)},
        "status": {
            "containerStatuses": [{"name": "valkey", "state": server}],
            "initContainerStatuses": [{"name": "agent", "state": agent}],
        },
    }
    return msgspec.convert(manifest, PodObject)


def gone(*states: PodObject) -> FormerPods:
    pods: Store[PodObject] = Store()
    former = FormerPods(pods)
    for state in states:
        pods.put(state)
    pods.remove(states[-1])
    return former


def test_a_pod_whose_containers_were_all_terminated_has_ended() -> None:
    former = gone(pod(1, server=RUNNING, agent=RUNNING), pod(2, server=TERMINATED, agent=TERMINATED))
    assert former.has_ended("first")
    assert former.vanished("first") is None


def test_a_pod_that_runs_again_after_its_machine_did_has_not_ended() -> None:
    states = (pod(1, server=TERMINATED, agent=TERMINATED), pod(2, server=RUNNING, agent=RUNNING))
    assert not gone(*states).has_ended("first")


def test_a_pod_that_was_deleted_while_anything_of_it_ran_has_only_vanished() -> None:
    former = gone(pod(1, server=TERMINATED, agent=RUNNING))
    assert not former.has_ended("first")
    assert former.vanished("first") is not None


def test_a_pod_whose_containers_nobody_told_of_has_not_ended() -> None:
    empty = msgspec.convert({"metadata": {"name": "cart-0-0", "uid": "first"}}, PodObject)
    assert not gone(empty).has_ended("first")
