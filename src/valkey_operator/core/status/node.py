"""The status of a ValkeyNode: what its pod, Service, volume and server are seen to be.

Owns: its fields. A server that was not heard of is `unknown`, never what it was.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from valkey_operator.api.node import ValkeyNodeSpec, ValkeyNodeStatus
from valkey_operator.api.status import ConditionType, ObservedRole, State
from valkey_operator.core.names import claim_name
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.status.conditions import Said, conditions_after
from valkey_operator.valkey.states import Health, ProcessState


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the status is made from."""

    name: str
    generation: int
    spec: ValkeyNodeSpec
    pod: PodFacts | None
    view: NodeView | None
    service_ip: str | None
    refused_volume: str | None = None
    """Why its volume cannot be as it shall be."""
    follows: str | None
    """The node whose Service the server follows, if it is one of ours."""
    conflict: str | None = None
    refused: str | None = None
    now: datetime


def node_status(facts: NodeFacts, before: ValkeyNodeStatus | None) -> ValkeyNodeStatus:
    """What is told about a node."""
    pod, view = facts.pod, facts.view
    state, reason, message = _state(pod, view)
    for held in _held(facts):
        state, reason, message = "Degraded" if pod and pod.ready else "Failed", held.reason, held.message
    said = [Said(ConditionType.READY, state == "Ready", reason, message), *_held(facts)]
    if facts.refused_volume:
        said.append(Said(ConditionType.VOLUME_REFUSED, True, "VolumeRefused", facts.refused_volume))
    deployment = facts.spec.pod_management_type == "deployment"
    return ValkeyNodeStatus(
        state=state,
        reason=reason,
        message=message,
        observed_generation=facts.generation,
        conditions=conditions_after(
            before.conditions if before else None, said, now=facts.now, generation=facts.generation
        ),
        ready=state == "Ready",
        version=view.version if view else None,
        zone=pod.zone if pod else None,
        pod_name=pod.name if pod else None,
        pod_ip=pod.ip if pod else None,
        service_name=facts.name,
        service_ip=facts.service_ip,
        pvc_name=claim_name(facts.name) if _has_volume(facts.spec) else None,
        managed_resource_name=facts.name,
        managed_resource_kind="Deployment" if deployment else "StatefulSet",
        observed_role=observed_role(view),
        observed_replica_of=facts.follows,
    )


def _held(facts: NodeFacts) -> Iterator[Said]:
    """What keeps the node from being as it shall be; its pod may run nevertheless."""
    if facts.conflict:
        yield Said(ConditionType.NAME_CONFLICT, True, "NameConflict", facts.conflict)
    if facts.refused:
        yield Said(ConditionType.REFUSED, True, "Refused", facts.refused)


def observed_role(view: NodeView | None) -> ObservedRole:
    """What a server said it is."""
    if view is None or view.role is None or view.process is not ProcessState.RUNNING:
        return "unknown"
    return "primary" if view.role == "primary" else "replica"


def _has_volume(spec: ValkeyNodeSpec) -> bool:
    return bool(spec.persistence and spec.persistence.enabled)


def _state(pod: PodFacts | None, view: NodeView | None) -> tuple[State, str, str]:
    if pod is None:
        return "Initializing", "NoPod", "Its pod does not exist yet."
    if pod.leaving:
        return "Reconciling", "PodStopping", f"Pod {pod.name} is being stopped."
    if pod.ready:
        return "Ready", "PodReady", f"Pod {pod.name} is Ready."
    if pod.problem:
        return "Degraded", "PodFailing", pod.problem
    return "Initializing", "PodStarting", f"Pod {pod.name}: {_progress(pod, view)}."


def _progress(pod: PodFacts, view: NodeView | None) -> str:
    if view is None:
        return "its containers are starting"
    if view.process is not ProcessState.RUNNING:
        return f"its server is {view.process}"
    if view.health is not Health.ANSWERS:
        return f"its server is {view.health or 'not asked yet'}"
    link = view.link
    if link is not None and (link.syncing or not link.up):
        return f"it is {'copying from' if link.syncing else 'connecting to'} {link.primary.host}"
    return f"{pod.name} is about to be Ready"
