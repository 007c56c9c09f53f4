"""The time of day, and its translation to the clock that the queue goes by."""

import asyncio
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


def loop_time_of(moment: datetime) -> float:
    """When the event loop's clock will show that time of day."""
    return asyncio.get_running_loop().time() + max(0.0, (moment - utc_now()).total_seconds())
