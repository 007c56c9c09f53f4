"""The operator's leader: where it is, how it is ended, and how it gets to a machine of choice."""

from collections.abc import Callable
from typing import Any

from faults.ground import Ground
from faults.problems import NotThereError
from testbed.faults import pods

SYSTEM = "valkey-operator-system"
DEPLOYMENT = "deployment/valkey-operator"
SELECTOR = "app.kubernetes.io/name=valkey-operator"
MOVED_WITHIN_S = 90


def leader(ground: Ground) -> str:
    """Its pod, as `namespace/name`."""
    return f"{SYSTEM}/{leading_pod(ground)['metadata']['name']}"


def leading_pod(ground: Ground) -> Any:
    holder = ground.shop.cluster.get("lease", "valkey-operator", SYSTEM)["spec"].get("holderIdentity") or ""
    leading = [pod for pod in operators(ground) if pod["metadata"]["name"] in holder]
    if not leading:
        raise NotThereError("no operator leads")
    return leading[0]


def operators(ground: Ground) -> list[Any]:
    found = ground.shop.cluster.get("pods", namespace=SYSTEM, selector=SELECTOR)["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def have_all_operators(ground: Ground) -> None:
    """Let a run begin with a leader and its standby.

    Kubernetes lets one that was killed in run after run wait for minutes before it starts it again.
    """
    for pod in operators(ground):
        if is_waiting(pod):
            delete(ground, pod)
    wait_for_rollout(ground)
    wait_for_leader(ground, lambda _: True, "an operator that leads")


def is_waiting(pod: Any) -> bool:
    """Whether its container is to be started again, later."""
    return any("waiting" in each["state"] for each in pod["status"].get("containerStatuses", []))


def kill_leader(ground: Ground) -> str:
    """SIGKILL of its process; the container starts again."""
    pod = leader(ground)
    pods.kill(ground.layout, pod)
    return pod


def put_leader_on(ground: Ground, machine: str) -> None:
    """Let a standby come up there if none is, and take over; the other one is anywhere."""
    if machine_of(leading_pod(ground)) == machine:
        return
    if machine not in map(machine_of, operators(ground)):
        move_standby(ground, machine)
    hand_over(ground, lambda found: found == machine, f"the leader to be on {machine}")


def keep_leader_off(ground: Ground, machine: str) -> None:
    """Let the standby take over if the leader is there."""
    if machine_of(leading_pod(ground)) != machine:
        return
    if {machine_of(pod) for pod in operators(ground)} == {machine}:
        move_standby(ground, next(each for each in ground.machines() if each != machine))
    hand_over(ground, lambda found: found != machine, f"the leader to be elsewhere than on {machine}")


def hand_over(ground: Ground, is_right: Callable[[str], bool], what: str) -> None:
    delete(ground, leading_pod(ground))
    wait_for_leader(ground, is_right, what)
    wait_for_rollout(ground)


def wait_for_leader(ground: Ground, is_right: Callable[[str], bool], what: str) -> None:
    """Until somebody leads on a machine that is right."""

    def leads() -> bool | None:
        try:
            return True if is_right(machine_of(leading_pod(ground))) else None
        except NotThereError:
            return None

    ground.shop.cluster.wait_for(what, leads, SYSTEM, deadline_s=MOVED_WITHIN_S)


def move_standby(ground: Ground, machine: str) -> None:
    others = [each for each in ground.machines() if each != machine]
    ground.shop.cluster.kubectl("cordon", *others)
    try:
        leading = leading_pod(ground)["metadata"]["name"]
        delete(ground, next(pod for pod in operators(ground) if pod["metadata"]["name"] != leading))
        wait_for_rollout(ground)
    finally:
        ground.shop.cluster.kubectl("uncordon", *others)


def machine_of(pod: Any) -> str:
    return str(pod["spec"].get("nodeName", ""))


def delete(ground: Ground, pod: Any) -> None:
    ground.shop.cluster.kubectl("delete", "pod", pod["metadata"]["name"], f"--namespace={SYSTEM}")


def wait_for_rollout(ground: Ground) -> None:
    ground.shop.cluster.kubectl(
        "rollout", "status", DEPLOYMENT, f"--namespace={SYSTEM}", f"--timeout={MOVED_WITHIN_S}s", timeout_s=100
    )
