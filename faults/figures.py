"""One run in figures: from a history, pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from faults.analysis import changes, gone_back, longest, lost, most_at_once, overlaps, untrue_s, windows
from faults.history import History
from faults.promises import Figures, Promise, broken_promises
from faults.schedule import Plan


class Staged(NamedTuple):
    """A fault as it happened."""

    kind: str
    what: str
    since_s: float
    until_s: float


class End(NamedTuple):
    """How it stood when all was healed."""

    settled_s: float
    """From the last healing until the Valkey was whole again by its own words."""
    status: str
    """Nothing, or what was untrue in the end."""
    found: Mapping[str, Sequence[int]] | None
    """The numbers that are in each writer's list; None where nobody could be asked."""


def figures(plan: Plan, promise: Promise, history: History, *, staged: Sequence[Staged], end: End) -> Figures:
    begin_s, end_s = bounds(history)
    found = overlaps(history.accepted())
    lost_now = lost_by_class(history, end)
    counted = Figures(
        kind=plan.kind,
        seed=plan.seed,
        durability=plan.durability,
        staged=[f"{each.since_s - begin_s:.1f}-{each.until_s - begin_s:.1f} s: {each.what}" for each in staged],
        gap_ms={
            log.name: round(longest(windows(log.writes, begin_s, end_s)).length_s * 1000, 1) for log in history.writers
        },
        stall_ms=round(history.stall_s * 1000, 1),
        acknowledged={log.name: sum(write.is_accepted for write in log.writes) for log in history.writers},
        lost=lost_now,
        overlap_ms=round(sum(each.length_s for each in found) * 1000, 1),
        longest_overlap_ms=round(max((each.length_s for each in found), default=0.0) * 1000, 1),
        strays=sum(each.strays for each in found),
        primaries_at_once=most_at_once(found, anybody=bool(history.accepted())),
        reads=len(history.reads),
        reads_back=gone_back(history.reads),
        primary_changes=changes(history.statuses),
        settled_s=round(end.settled_s, 1),
        status=end.status,
        untrue_s=round(untrue_for_s(history, begin_s, end_s, promise.status_grace_s), 1),
        refusals=dict(sum((log.refusals for log in history.writers), Counter())),
        broken=[],
    )
    return msgspec.structs.replace(counted, broken=broken_promises(counted, promise))


def bounds(history: History) -> tuple[float, float]:
    """From when every writer was under way until the last write of any."""
    begin_s = max((next((w.done_s for w in log.writes if w.is_accepted), 0.0) for log in history.writers), default=0.0)
    return begin_s, max((log.writes[-1].done_s for log in history.writers if log.writes), default=begin_s)


def lost_by_class(history: History, end: End) -> dict[str, int] | None:
    if end.found is None:
        return None
    all_lost = [lost(log, end.found[log.name]) for log in history.writers]
    return {
        "plain": sum(len(each.plain) for each in all_lost),
        "confirmed": sum(len(each.confirmed) for each in all_lost),
    }


def untrue_for_s(history: History, begin_s: float, end_s: float, grace_s: float) -> float:
    """Of all slots, the one about which the status was untrue for longest."""
    return max(
        (untrue_s(history.statuses, windows(writes, begin_s, end_s), grace_s) for writes in history.written().values()),
        default=0.0,
    )
