"""The licence to write: until when a primary may take writes. Pure.

Owns: the rules. Refuses to know: how anything was found out (peers.py, leader.py, record.py), and what is done without
a licence (fence.py).

| licence  | holds                                                                                                |
| -------- | ---------------------------------------------------------------------------------------------------- |
| ALONE    | for good: the record, read in this epoch, names nobody who could take over                           |
| REPLICAS | F long from the moment when those were asked of whom at least half granted the epoch                 |
| OPERATOR | F long from the moment when the operator's leader was asked, and granted the epoch                   |
| RECORD   | F long from the moment when the record was asked for, unchanged, and the operator's Lease had expired |

Half of the replicas that could take over: whoever wants to replace a primary that it cannot reach needs more than half
of them to promise a newer epoch, and who did so grants no older one. While their list changes, half of both lists.
"""

import enum
import math
from collections.abc import Collection, Mapping

import msgspec

from valkey_operator.valkey.terms import Sets

NEVER = -math.inf


class Licence(enum.StrEnum):
    """By whose leave a primary writes."""

    ALONE = "alone"
    REPLICAS = "replicas"
    OPERATOR = "operator"
    RECORD = "record"


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """When those were asked who granted this epoch, by a clock that never goes back."""

    alone: bool = False
    """The record was read in this epoch, and nobody could take over."""
    replicas: Mapping[str, float] = {}
    operator: float = NEVER
    record: float = NEVER


def good_until(sets: Sets, grants: Grants, fence_after_s: float) -> tuple[float, Licence | None]:
    """When writing must end, unless somebody grants more; and by whose leave it lasts so long."""
    ends = {
        Licence.ALONE: math.inf if grants.alone and not any(sets) else NEVER,
        Licence.REPLICAS: _granted_by_half(sets, grants.replicas) + fence_after_s,
        Licence.OPERATOR: grants.operator + fence_after_s,
        Licence.RECORD: grants.record + fence_after_s,
    }
    best = max(ends, key=lambda each: ends[each])
    return (ends[best], best) if ends[best] > NEVER else (NEVER, None)


def _granted_by_half(sets: Sets, asked_at: Mapping[str, float]) -> float:
    """The latest moment since when half of each set have granted; nobody grants for a set without members."""
    if not any(sets):
        return NEVER
    return min(_half_since(members, asked_at) for members in sets if members)


def _half_since(members: Collection[str], asked_at: Mapping[str, float]) -> float:
    newest_first = sorted((asked_at.get(member, NEVER) for member in members), reverse=True)
    return newest_first[(len(newest_first) + 1) // 2 - 1]
