"""What a user is told of a Valkey: its status, and events.

Owns: which findings go into a status, and what is worth an event. Refuses to know: the words of a status (core/status).
"""

from collections.abc import Iterable

from valkey_operator.api.status import ConditionType
from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.kinds import VALKEYS, NodeObject, ValkeyObject
from valkey_operator.controllers.live_settings import Tell
from valkey_operator.controllers.telling import Teller
from valkey_operator.controllers.valkey_case import Case, End
from valkey_operator.controllers.valkey_facts import ShardView, ValkeyGround
from valkey_operator.core.shard.steps import Reason
from valkey_operator.core.status.valkey import Findings, valkey_status
from valkey_operator.core.validation import warnings_of
from valkey_operator.core.version_change import image_warnings
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.writer import Writer

_TOLD_CONDITIONS = (ConditionType.WISH_OPEN, ConditionType.WRITES_STOP)
_NOT_TOLD = frozenset({Reason.MEMBERS_CHANGED, Reason.WISH_FORGOTTEN})


class Reporter:
    """For one term."""

    def __init__(self, facts: ValkeyGround, valkeys: Writer[ValkeyObject], events: EventRecorder) -> None:
        self._facts = facts
        self._teller = Teller(VALKEYS, valkeys, events)

    def about(self, valkey: ValkeyObject) -> Tell:
        """Tells events about one Valkey."""
        return self._teller.about(valkey)

    def tell_change(self, valkey: ValkeyObject, reason: Reason, message: str) -> None:
        """Of the record, unless that is too frequent."""
        if reason not in _NOT_TOLD:
            self.about(valkey)("Normal", reason, message)

    def warn(self, case: Case) -> None:
        """Once for each change of the spec."""
        status = case.valkey.status
        if status is None or status.observed_generation != case.valkey.metadata.generation:
            known = [status.version] if status else []
            doubts = image_warnings(case.spec.image, self._facts.images(case.valkey), known)
            for problem in [*warnings_of(case.spec), *doubts]:
                self.about(case.valkey)("Warning", "SeldomMeant", f"{problem.sentence()}.")

    async def report(self, case: Case, view: ShardView | None, end: End) -> None:
        """How it is, and what of that is new."""
        before, found = case.valkey.status, self._findings(case, view, end)
        status, unwell = valkey_status(found, before), bool(found.pod_problems)
        self._teller.tell_news(case.valkey, before, status, *_TOLD_CONDITIONS, unwell=unwell)
        await self.tell_status(case.valkey, status)

    async def tell_status(self, valkey: ValkeyObject, status: ValkeyStatus) -> None:
        """Write it, unless it is there already."""
        await self._teller.tell_status(valkey, valkey.status, status)

    def _findings(self, case: Case, view: ShardView | None, end: End) -> Findings:
        pods, nodes = view.pods if view else {}, self._facts.nodes(case.valkey).values()
        return Findings(
            owner=case.source.owner,
            generation=case.valkey.metadata.generation,
            spec=case.spec,
            shard=view.facts if view else None,
            waits_for=end.waits_for,
            hindrance=str(end.retry) if end.retry else None,
            problems=case.problems,
            conflicts=[*case.conflicts, *told_by(nodes, ConditionType.NAME_CONFLICT)],
            refused=end.refused or " ".join(told_by(nodes, ConditionType.REFUSED)) or None,
            refused_volumes=told_by(nodes, ConditionType.VOLUME_REFUSED),
            pod_problems={name: pod.problem for name, pod in pods.items() if pod.problem and not pod.ready},
            pods=self._facts.pods(case.valkey),
            zones={name: pod.zone for name, pod in pods.items() if pod.zone},
            now=utc_now(),
        )


def told_by(nodes: Iterable[NodeObject], type_: ConditionType) -> list[str]:
    """What holds a node up, as its own status has it."""
    conditions = [each for node in nodes for each in (node.status.conditions if node.status else None) or ()]
    return [each.message for each in conditions if each.type == type_ and each.status == "True"]
