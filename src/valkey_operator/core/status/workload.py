"""What is told alike of a Valkey and of a ValkeyCluster.

Owns: what keeps a spec from being carried out, the states while not all is as it shall be, and the fields that both
have. Refuses to know: what makes either of them Ready.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from valkey_operator.api.status import Condition, ConditionType, Endpoints, ExporterStatus, State, WorkloadStatus
from valkey_operator.core.effective import EffectiveWorkload
from valkey_operator.core.names import Owner
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.render.pod import SERVER_PORT, password_source
from valkey_operator.core.status.conditions import Said
from valkey_operator.core.validation import Problem

MOST_NAMES = 10
"""That one sentence lists; what is more is counted."""


class WorkloadFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What the statuses of both kinds are made from."""

    owner: Owner
    generation: int
    spec: EffectiveWorkload
    hindrance: str | None = None
    """What did not go just now, in a sentence; it is tried again."""
    problems: Sequence[Problem] = ()
    conflicts: Sequence[str] = ()
    refused: str | None = None
    """What the API server would not take, in its words."""
    refused_volumes: Sequence[str] = ()
    pod_problems: Mapping[str, str] = {}
    pods: Sequence[str] = ()
    """All that exist, those of nodes that are gone too."""
    now: datetime


class Verdict(msgspec.Struct, frozen=True):
    """The state in one word, and why."""

    state: State
    reason: str
    message: str


def held(found: WorkloadFindings) -> tuple[str, str] | None:
    """Why the spec is not carried out; what runs already keeps running."""
    if found.problems:
        return "InvalidSpec", " ".join(f"{problem.sentence()}." for problem in found.problems)
    if found.conflicts:
        return "NameConflict", " ".join(found.conflicts)
    if found.refused_volumes:
        return "VolumeRefused", " ".join(found.refused_volumes)
    if found.refused:
        return "Refused", refusal(found.refused)
    return None


def refusal(words: str) -> str:
    """What the API server refused, and what follows from it."""
    return f"The API server refuses what the spec asks for; correct the spec. It says: {words}"


def suspended(pods: Sequence[str]) -> Verdict:
    """Nothing shall run."""
    if pods:
        return Verdict("Reconciling", "Suspending", f"{said_of(pods)} being stopped; volumes are kept.")
    return Verdict("Suspended", "Suspended", "No pods run; volumes are kept. Set replicas to 1 or more to resume.")


def unsettled(
    found: WorkloadFindings, before: WorkloadStatus | None, *, is_changing: bool, message: str | None
) -> Verdict:
    """Not all is as it shall be: for the first time, while something changes, or though nothing does."""
    said = message or "Nodes are starting."
    if before is None or before.state in (None, "Initializing", "Suspended"):
        return Verdict("Initializing", "PodFailing" if found.pod_problems else "NodesStarting", said)
    if found.pod_problems:
        return Verdict("Degraded", "PodFailing", said)
    if not is_changing and _was_settled(before, found.generation):
        return Verdict("Degraded", "NodesNotReady", said)
    return Verdict("Reconciling", "Changing", said)


def hindered(found: WorkloadFindings) -> str | None:
    """What does not go, in the words of whoever said so."""
    if found.pod_problems:
        return " ".join(found.pod_problems[name] for name in sorted(found.pod_problems)[:MOST_NAMES])
    return f"{found.hindrance.rstrip('.')}." if found.hindrance else None


def said_of(names: Collection[str]) -> str:
    """The names, and the verb for what is said of them."""
    listed, more = list(names)[:MOST_NAMES], len(names) - MOST_NAMES
    others = f" and {more} more" if more > 0 else ""
    return f"{', '.join(listed)}{others} {'is' if len(names) == 1 else 'are'}"


def state_conditions(found: WorkloadFindings, verdict: Verdict) -> list[Said]:
    """Those that repeat the state, and whether the spec can be carried out."""
    progressing = verdict.state in ("Initializing", "Reconciling")
    valid = "The spec can be carried out." if not found.problems else verdict.message
    return [
        Said(ConditionType.READY, verdict.state == "Ready", verdict.reason, verdict.message),
        Said(ConditionType.PROGRESSING, progressing, verdict.reason, verdict.message),
        Said(ConditionType.DEGRADED, verdict.state in ("Degraded", "Failed"), verdict.reason, verdict.message),
        Said(ConditionType.SPEC_VALID, not found.problems, "InvalidSpec" if found.problems else "Valid", valid),
    ]


def held_conditions(found: WorkloadFindings) -> Iterator[Said]:
    """Those that are there only while something is in the way."""
    if found.conflicts:
        yield Said(ConditionType.NAME_CONFLICT, True, "NameConflict", " ".join(found.conflicts))
    if found.refused_volumes:
        yield Said(ConditionType.VOLUME_REFUSED, True, "VolumeRefused", " ".join(found.refused_volumes))


def version_of(views: Iterable[NodeView | None]) -> str | None:
    """The version that all servers have; None where they differ, or none tells."""
    versions = {view.version for view in views if view and view.version}
    return versions.pop() if len(versions) == 1 else None


def secret_name(found: WorkloadFindings) -> str | None:
    """The Secret with which clients log in."""
    source = password_source(found.spec, found.owner.name)
    return source.name if source else None


def endpoints(found: WorkloadFindings) -> Endpoints:
    """Where clients connect."""
    place, name = f"{found.owner.namespace}.svc:{SERVER_PORT}", found.owner.name
    return Endpoints(
        write=f"{name}.{place}",
        read=f"{name}-read.{place}" if found.spec.read_service.enabled else None,
        nodes=f"{name}-nodes.{place}",
    )


def exporter(found: WorkloadFindings) -> ExporterStatus | None:
    """Where the metrics are."""
    if not found.spec.exporter.enabled:
        return None
    place = f"{found.owner.name}-metrics.{found.owner.namespace}.svc:{found.spec.exporter.port}"
    return ExporterStatus(enabled=True, metrics_endpoint=f"http://{place}/metrics")


def _was_settled(before: WorkloadStatus, generation: int) -> bool:
    """Whether this very spec was carried out once."""
    progressing = _find(before.conditions, ConditionType.PROGRESSING)
    return progressing is not None and progressing.status == "False" and progressing.observed_generation == generation


def _find(conditions: Sequence[Condition] | None, type_: ConditionType) -> Condition | None:
    return next((each for each in conditions or () if each.type == type_), None)
