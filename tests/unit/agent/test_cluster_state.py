from pathlib import Path

import msgspec
import pytest

from valkey_operator.agent.cluster_state import (
    MOST_ENDED_MIGRATIONS,
    ClusterState,
    NodesFile,
    without_counts,
    worth_telling,
)
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration
from valkey_operator.valkey.slots import slot_range

STATE = ClusterState(nodes="…", keys=5, keys_in_slots=((7, 3),), used_bytes=99, limit_bytes=1000)


def migration(name: str, state: MigrationState, updated_s: int = 1) -> SlotMigration:
    return SlotMigration(
        name=name,
        importing=False,
        source="a" * 40,
        target="b" * 40,
        slots=slot_range(0, 9),
        state=state,
        message="",
        updated_s=updated_s,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": 6},
        {"keys_in_slots": ((7, 2),)},
        {"used_bytes": 100},
    ],
)
def test_numbers_that_move_with_every_write_are_no_news(changes: dict[str, object]) -> None:
    assert without_counts(msgspec.structs.replace(STATE, **changes)) == without_counts(STATE)


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": 0},
        {"keys_in_slots": ((7, 0),)},
        {"keys_in_slots": ()},
        {"limit_bytes": 2000},
        {"nodes": "others"},
        {"serves": True},
        {"migrations": (migration("m", MigrationState.FAILED),)},
    ],
)
def test_that_no_key_is_left_and_all_that_does_not_move_by_itself_is_news(changes: dict[str, object]) -> None:
    assert without_counts(msgspec.structs.replace(STATE, **changes)) != without_counts(STATE)


def test_how_long_a_migration_is_under_way_is_no_news_and_when_it_failed_is() -> None:
    def told(state: MigrationState, updated_s: int) -> ClusterState:
        return without_counts(msgspec.structs.replace(STATE, migrations=(migration("m", state, updated_s),)))

    assert told(MigrationState.UNDER_WAY, 1) == told(MigrationState.UNDER_WAY, 2)
    assert told(MigrationState.FAILED, 1) != told(MigrationState.FAILED, 2)


def test_all_migrations_under_way_are_told_and_of_those_that_ended_the_newest() -> None:
    ended = [migration(f"e{number}", MigrationState.SUCCESS) for number in range(100)]
    old = migration("still under way", MigrationState.UNDER_WAY)
    assert worth_telling([*ended, old]) == (*ended[:MOST_ENDED_MIGRATIONS], old)


def test_a_folder_without_a_file_makes_a_new_node(tmp_path: Path) -> None:
    assert NodesFile(tmp_path).read() == ""
    (tmp_path / "nodes.conf").write_text("vars currentEpoch 1 lastVoteEpoch 0\n")
    assert NodesFile(tmp_path).read() == ""
