"""The copy of the data on disk: which files there are, and the mark that says what copy they are.

Owns: the files, the mark, and when it is written. Refuses to know: whose copy is taken after a restart of all nodes.

The mark names the epoch in which the data were last whole, and whether as the primary's. It is written while the server
runs, so it is about what the server has in memory. It counts only where persisted files are: a server without
persistence leaves a mark and no data.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from valkey_operator.agent.probes import check_ready
from valkey_operator.agent.promise import Given
from valkey_operator.agent.report import Facts, Persisted
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.rdb import HEAD_BYTES, snapshot_offset

MARK_FILE = "valkey-operator.copy"


class CopyMark(msgspec.Struct, frozen=True):
    """On file beside the data: the epoch in which they were last whole, and as whose."""

    epoch: int
    was_primary: bool = False


def mark_of(facts: Facts) -> CopyMark | None:
    """The mark that a server's copy deserves now: a primary's that takes writes, or a replica's that has everything.

    None: the one on file stays. Only a server with the role it was given is of the promised epoch: one that was told to
    park and did not, because it hung, is still of the epoch before.
    """
    view = facts.server
    if check_ready(facts) is not None or view is None or view.replication is None or view.is_spare:
        return None
    is_primary = view.replication.role is Role.PRIMARY
    given = facts.promise.given
    if given not in {Given.ANY, Given.PRIMARY if is_primary else Given.REPLICA} or (
        is_primary and view.fenced is not False
    ):
        return None
    # The epochs of a cluster are its own: they grow whenever a replica takes over, whoever made it do so.
    epoch = facts.promise.epoch if view.cluster is None else view.cluster.config_epoch
    return CopyMark(epoch, was_primary=is_primary)


class DataFolder:
    """The folder of the server's data; the names in it are the operator's, a user cannot set them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rdb = folder / "dump.rdb"
        self._aof = folder / "appendonlydir" / "appendonly.aof.manifest"
        self._mark = folder / MARK_FILE
        self._offset: tuple[tuple[int, int, int] | None, int] = (None, 0)

    def look(self) -> Persisted:
        """What is there now."""
        mark = self.read_mark()
        rdb = _stamp(self._rdb)
        return Persisted(
            rdb=rdb is not None,
            aof=_stamp(self._aof) is not None,
            epoch=None if mark is None else mark.epoch,
            was_primary=mark is not None and mark.was_primary,
            offset=self._read_offset(rdb),
        )

    def read_mark(self) -> CopyMark | None:
        """The mark on file; None where there is none that can be read."""
        try:
            return msgspec.json.decode(self._mark.read_bytes(), type=CopyMark)
        except (OSError, msgspec.DecodeError):
            return None

    def write_mark(self, mark: CopyMark) -> None:
        """Replace the mark as a whole; it is on the disk when this returns. Raises OSError."""
        fresh = self._mark.with_name(f".{MARK_FILE}.fresh")
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(mark))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._mark)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read_offset(self, stamp: tuple[int, int, int] | None) -> int:
        """The offset in the snapshot; the file is read only where it is another one than before."""
        if stamp != self._offset[0]:
            head = b""
            with contextlib.suppress(OSError), self._rdb.open("rb") as file:
                head = file.read(HEAD_BYTES)
            self._offset = (stamp, snapshot_offset(head))
        return self._offset[1]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes with the content of a file; None: there is none, or it is empty."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size) if status.st_size else None
