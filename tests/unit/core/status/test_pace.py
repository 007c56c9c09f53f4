"""How fast slots move, as a status tells it."""

from datetime import UTC, datetime

import msgspec

from valkey_operator.api.cluster import MigrationStatus
from valkey_operator.core.status.pace import with_pace

NOW = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)
BEFORE = MigrationStatus(moved=1000, remaining=3096, since="2026-11-16T12:00:20Z", keys_per_second=3, seconds_left=99)
KEYS = 1_638_400


def test_nothing_is_guessed_before_slots_have_moved() -> None:
    found = with_pace(MigrationStatus(moved=0, remaining=4096), None, now=NOW, keys=KEYS)
    assert (found.since, found.keys_per_second, found.seconds_left) == ("2026-11-16T12:00:30Z", None, None)


def test_what_is_left_takes_as_long_as_what_has_moved_took() -> None:
    found = with_pace(MigrationStatus(moved=2048, remaining=1024), BEFORE, now=NOW, keys=KEYS)
    assert (found.since, found.keys_per_second, found.seconds_left) == (BEFORE.since, 20_480, 5)


def test_figures_stay_as_they_are_while_only_time_passes() -> None:
    told = msgspec.structs.replace(BEFORE, since=None, keys_per_second=None, seconds_left=None)
    assert with_pace(told, BEFORE, now=NOW, keys=KEYS) == BEFORE


def test_nothing_is_divided_by_no_time_at_all() -> None:
    before = msgspec.structs.replace(BEFORE, since="2026-11-16T12:00:30Z")
    assert with_pace(MigrationStatus(moved=2048, remaining=1024), before, now=NOW, keys=KEYS).seconds_left is None
