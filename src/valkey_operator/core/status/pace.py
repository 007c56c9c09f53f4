"""How fast slots move, and how much longer that will take.

Owns: both figures, and since when they are counted. Refuses to know: which slots move (slots.py).
"""

from datetime import datetime

import msgspec

from valkey_operator.api.cluster import MigrationStatus
from valkey_operator.core.status.conditions import timestamp
from valkey_operator.valkey.slots import SLOT_COUNT


def with_pace(told: MigrationStatus, before: MigrationStatus | None, *, now: datetime, keys: int) -> MigrationStatus:
    """With figures that change only when slots have moved: a status is not written because time has passed."""
    begun = before.since if before and before.since else timestamp(now)
    if before is not None and before.since and before.moved == told.moved:
        figures = before.keys_per_second, before.seconds_left
    else:
        figures = _figures(told, (now - datetime.fromisoformat(begun)).total_seconds(), keys)
    return msgspec.structs.replace(told, since=begun, keys_per_second=figures[0], seconds_left=figures[1])


def _figures(told: MigrationStatus, for_s: float, keys: int) -> tuple[int | None, int | None]:
    """Slots have about as many keys each, for want of a better guess."""
    moved, remaining = told.moved or 0, told.remaining or 0
    if not moved or for_s < 1:
        return None, None
    return round(keys * moved / SLOT_COUNT / for_s), round(for_s * remaining / moved)
