"""Pods as Kubernetes tells of them, in the words that plans and statuses use.

Owns: the translation, and which of a node's pods is the one that counts. Refuses to know: what follows from it.
"""

import re
from datetime import datetime, timedelta

from valkey_operator.controllers.ground import BY_NODE, Ground
from valkey_operator.controllers.kinds import ContainerStatus, MachineObject, PodObject
from valkey_operator.core.names import ROLE_LABEL, ROLL_HASH_ANNOTATION
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.render.pod import AGENT, EXPORTER, SERVER
from valkey_operator.kube.objects import Key, ObjectMeta

ZONE_LABEL = "topology.kubernetes.io/zone"
# Kubernetes tries again by itself after each of these, yet somebody has to do something first.
_LAST_LINES, _MOST_CHARACTERS = 4, 600
# As Valkey begins each line: pid and role, date and time, level.
_STAMP = re.compile(r"^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ \S ")
_STUCK = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)
_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_IMAGE_FIELDS = {SERVER: "spec.image", AGENT: "spec.sidecar.image", EXPORTER: "spec.exporter.image"}
_PLACE_REMEDY = "Lower spec.resources, loosen spec.nodeSelector or spec.affinity, or add machines."


def pod_of(ground: Ground, node: Key) -> PodObject | None:
    """The pod of a node: the one that stays, else the one that is going.

    Somebody may have scaled its StatefulSet out: the pod that was there before is the node's.
    """
    pods = [pod for pod in ground.pods.by_index(BY_NODE, node.name) if pod.key.namespace == node.namespace]
    first = f"{node.name}-0"

    def rank(pod: PodObject) -> tuple[bool, bool, str]:
        meta = pod.metadata
        return (meta.deletion_timestamp is None, meta.name == first, meta.creation_timestamp)

    return max(pods, key=rank, default=None)


def node_pod(ground: Ground, node: Key) -> PodFacts | None:
    """What is known of a node's pod."""
    pod = pod_of(ground, node)
    return None if pod is None else pod_facts(pod, ground.machine_of(pod.spec.node_name))


def pod_facts(pod: PodObject, machine: MachineObject | None) -> PodFacts:
    """What is known of a pod; `machine` is Kubernetes' node that it runs on, as far as we may see it."""
    ready = next((each for each in pod.status.conditions if each.type == "Ready"), None)
    stops_at = _moment(pod.metadata.deletion_timestamp)
    return PodFacts(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        ip=pod.status.pod_ip or None,
        ready=ready is not None and ready.status == "True",
        leaving=stops_at is not None,
        stops_at=stops_at,
        changed_at=_left_at(pod.metadata) or _moment(ready.last_transition_time if ready else None),
        agent_started=_runs(AGENT, pod.status.init_container_statuses),
        server_started=_runs(SERVER, pod.status.container_statuses),
        roll_hash=pod.metadata.annotations.get(ROLL_HASH_ANNOTATION),
        role=pod.metadata.labels.get(ROLE_LABEL),
        machine=pod.spec.node_name or None,
        zone=machine.metadata.labels.get(ZONE_LABEL) if machine else None,
        cordoned=machine is not None and machine.spec.unschedulable,
        problem=_problem(pod),
    )


def _left_at(meta: ObjectMeta) -> datetime | None:
    """When it was told to stop."""
    stops_at = _moment(meta.deletion_timestamp)
    return stops_at - timedelta(seconds=meta.deletion_grace_period_seconds or 0) if stops_at else None


def _moment(stamp: str | None) -> datetime | None:
    return datetime.fromisoformat(stamp) if stamp else None


def _runs(name: str, statuses: tuple[ContainerStatus, ...]) -> bool:
    return any(each.name == name and each.state.running is not None for each in statuses)


def _problem(pod: PodObject) -> str | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"Pod {pod.metadata.name} fits on no machine: {condition.message} {_PLACE_REMEDY}"
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if sentence := _stuck(status):
            return f"Pod {pod.metadata.name}: {sentence}"
    return None


def _stuck(status: ContainerStatus) -> str | None:
    waiting = status.state.waiting
    if waiting is None or waiting.reason not in _STUCK:
        return None
    ended = status.last_state.terminated
    why = last_words(ended.message if ended else "") or waiting.message or "see its log"
    sentence = f"container {status.name} cannot start ({waiting.reason}): {why}"
    field = _IMAGE_FIELDS.get(status.name)
    return f"{sentence}. Correct {field}, or offer that image." if field and waiting.reason in _IMAGE else sentence


def last_words(log: str) -> str:
    """The last lines of a log that a container left, without their times: what it says of its own end."""
    lines = [_STAMP.sub("", line.strip()) for line in log.splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:])[-_MOST_CHARACTERS:]
