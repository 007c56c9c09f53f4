from pathlib import Path

import msgspec
import pytest

from tests.support import build
from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.agent.persisted import MARK_FILE, CopyMark, DataFolder, mark_of
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.agent.report import Facts, Persisted
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import LinkStatus, ReplicationInfo
from valkey_operator.valkey.states import Health, ProcessState

RDB = b"REDIS0011\xfa\x0brepl-offset\xc0"


def facts(
    replication: ReplicationInfo,
    given: Given = Given.ANY,
    *,
    least: int | None = 0,
    health: Health = Health.ANSWERS,
    state: ProcessState = ProcessState.RUNNING,
) -> Facts:
    view = ServerView(health=health, server=build.server(), replication=replication, least_replicas=least)
    return Facts(process=Watched(state, ProcessId(7, 1), 1), server=view, promise=Promise(1, 5, given))


def test_the_copy_of_a_cluster_node_is_marked_with_the_epoch_of_its_cluster() -> None:
    known = facts(build.replica())
    assert known.server
    cluster = msgspec.structs.replace(known.server, cluster=ClusterState(nodes="", config_epoch=9))
    assert mark_of(msgspec.structs.replace(known, server=cluster)) == CopyMark(9)


@pytest.mark.parametrize("owns_slots", [True, False])
def test_of_a_cluster_s_primaries_only_those_that_own_slots_have_a_copy_that_is_marked(owns_slots: bool) -> None:
    """A new node has the highest epoch; an empty copy of that epoch would outrank the one that has the data."""
    known = facts(build.primary())
    assert known.server
    state = ClusterState(nodes="", config_epoch=9, owns_slots=owns_slots)
    told = msgspec.structs.replace(known, server=msgspec.structs.replace(known.server, cluster=state))
    assert mark_of(told) == (CopyMark(9, was_primary=True) if owns_slots else None)


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        (facts(build.primary()), CopyMark(5, was_primary=True)),
        (facts(build.primary(), Given.PRIMARY), CopyMark(5, was_primary=True)),
        (facts(build.replica()), CopyMark(5)),
        (facts(build.replica(), Given.REPLICA, least=FENCED), CopyMark(5)),
        (facts(build.primary(), least=FENCED), None),
        (facts(build.primary(), least=None), None),
        (facts(build.primary(), Given.NONE), None),
        (facts(build.primary(), Given.REPLICA), None),
        (facts(build.replica(), Given.PRIMARY), None),
        (facts(build.replica(), Given.NONE), None),
        (facts(build.replica(status=LinkStatus.DOWN)), None),
        (facts(build.replica(sync_in_progress=True)), None),
        (facts(build.primary(), health=Health.LOADING), None),
        (facts(build.primary(), state=ProcessState.GONE), None),
        (Facts(), None),
    ],
)
def test_a_copy_is_marked_where_it_is_whole_and_has_the_role_it_was_given(given: Facts, mark: CopyMark | None) -> None:
    assert mark_of(given) == mark


def test_an_empty_data_folder_holds_nothing(tmp_path: Path) -> None:
    assert DataFolder(tmp_path).look() == Persisted()
    assert DataFolder(tmp_path / "missing").look() == Persisted()


def test_files_and_the_mark_of_their_copy_are_found(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"VALKEY")
    (tmp_path / "appendonlydir").mkdir()
    (tmp_path / "appendonlydir" / "appendonly.aof.manifest").write_bytes(b"")
    (tmp_path / MARK_FILE).write_text('{"epoch": 7, "was_primary": true}')
    assert DataFolder(tmp_path).look() == Persisted(rdb=True, aof=False, epoch=7, was_primary=True)


def test_a_mark_is_read_back_as_it_was_written_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    for mark in (CopyMark(3, was_primary=True), CopyMark(4)):
        folder.write_mark(mark)
        assert folder.read_mark() == mark
    assert list(tmp_path.iterdir()) == [tmp_path / MARK_FILE]


@pytest.mark.parametrize("content", [b"", b"{", b'{"was_primary": true}', b"\xff"])
def test_a_mark_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MARK_FILE).write_bytes(content)
    assert DataFolder(tmp_path).look() == Persisted()


def test_the_offset_of_a_snapshot_is_read_again_when_the_file_is_another_one(tmp_path: Path) -> None:
    folder, snapshot = DataFolder(tmp_path), tmp_path / "dump.rdb"
    snapshot.write_bytes(RDB + b"\x0e")
    assert folder.look().offset == 14
    (tmp_path / "temp").write_bytes(RDB + b"\x0f")
    (tmp_path / "temp").replace(snapshot)
    assert folder.look().offset == 15
    snapshot.unlink()
    assert folder.look() == Persisted()
