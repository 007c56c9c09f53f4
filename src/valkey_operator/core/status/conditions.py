"""Conditions, with the time since when each holds.

Owns: that a condition keeps its time while its status stays the same. Refuses to know: which conditions there are.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from valkey_operator.api.status import Condition, ConditionType


class Said(msgspec.Struct, frozen=True):
    """A condition without its time; `holds` None: it is not known."""

    type: ConditionType
    holds: bool | None
    reason: str
    message: str


def conditions_after(
    before: Iterable[Condition] | None, said: Iterable[Said], *, now: datetime, generation: int
) -> list[Condition]:
    """The conditions as they are told now; one that nobody speaks of any more is dropped."""
    known = {each.type: each for each in before or ()}
    return [_condition(each, known.get(each.type), now, generation) for each in said]


def is_said(conditions: Iterable[Condition] | None, type_: ConditionType) -> bool:
    """Whether a condition is told to be true."""
    return any(each.type == type_ and each.status == "True" for each in conditions or ())


def news(
    before: Iterable[Condition] | None, after: Iterable[Condition] | None, *types: ConditionType
) -> list[Condition]:
    """The conditions of these types that are true now and were not, or for another reason."""
    known = {(each.type, each.status, each.reason) for each in before or ()}
    return [
        each
        for each in after or ()
        if each.type in types and each.status == "True" and (each.type, each.status, each.reason) not in known
    ]


def timestamp(moment: datetime) -> str:
    """As Kubernetes writes a time."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(said: Said, before: Condition | None, now: datetime, generation: int) -> Condition:
    status: Condition = Condition(
        type=said.type,
        status="Unknown" if said.holds is None else "True" if said.holds else "False",
        reason=said.reason,
        message=said.message,
        last_transition_time=timestamp(now),
        observed_generation=generation,
    )
    if before is None or before.status != status.status:
        return status
    return msgspec.structs.replace(status, last_transition_time=before.last_transition_time)
