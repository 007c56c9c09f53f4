"""When slots are on their way, and what lies in them."""

from itertools import islice

import pytest

from faults.migration_kinds import BALLAST_MIB, ballast, moving
from faults.slot_map import slot_of
from valkey_operator.valkey.slots import slot_range


@pytest.mark.parametrize(
    ("migration", "found"),
    [
        (None, None),
        ({"from": "0, 1, 2", "to": "3", "moved": 0, "remaining": 4096}, None),
        ({"from": "2", "to": "3", "slots": "15019-16383", "moved": 0, "remaining": 4096}, (2, 3)),
        ({"from": "0, 1", "to": "3, 4", "slots": "4000-5461 9000-9100"}, (0, 3)),
    ],
)
def test_slots_are_on_their_way_once_the_status_names_them(
    migration: dict[str, object] | None, found: tuple[int, int] | None
) -> None:
    assert moving({"migration": migration} if migration else {}) == found


def test_ballast_lies_in_the_slots_that_a_shard_gives_first() -> None:
    commands = list(ballast(slot_range(0, 5461)))
    assert len(commands) == BALLAST_MIB
    assert {slot_of(str(key)) for _, key, *_ in islice(commands, 32)} == set(range(5454, 5462))
