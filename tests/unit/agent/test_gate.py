import os
import stat
import threading
from pathlib import Path

import pytest

from valkey_operator.agent.gate import Gate, NobodyWaitsError, write_private
from valkey_operator.valkey.boot import Start, StartKind

PARKED = Start(kind=StartKind.PARKED)


def open_parked(gate: Gate) -> None:
    gate.open_as(PARKED, default_password=None, port=6379, settings_file=None)


class Reader(threading.Thread):
    """Stands at the gate as a server does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._path = folder / "go.conf"
        self.read = b""
        self.start()

    def run(self) -> None:
        self.read = self._path.read_bytes()


def open_when_somebody_waits(gate: Gate) -> None:
    for _ in range(1000):
        try:
            open_parked(gate)
        except NobodyWaitsError:
            threading.Event().wait(0.002)
        else:
            return
    raise AssertionError("nobody came to the gate")


def test_an_answer_reaches_the_server_that_waits(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.make()
    reader = Reader(tmp_path)
    open_when_somebody_waits(gate)
    reader.join(2)

    assert reader.read == f'include "{tmp_path}/start.conf"\n'.encode()
    assert stat.S_IMODE((tmp_path / "start.conf").stat().st_mode) == 0o600
    assert gate.password() is not None
    assert Gate(tmp_path).password() == gate.password()  # a later agent finds it again


def test_nothing_is_left_at_a_gate_where_nobody_waits(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.make()
    with pytest.raises(NobodyWaitsError):
        open_parked(gate)

    assert [path.name for path in tmp_path.iterdir()] == ["go.conf"]
    assert gate.password() is None


def test_each_start_has_its_own_password(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.make()
    seen = set()
    for _ in range(2):
        reader = Reader(tmp_path)
        open_when_somebody_waits(gate)
        reader.join(2)
        seen.add(gate.password())

    assert len(seen) == 2


def test_an_answer_nobody_takes_leaves_the_password_of_the_running_server(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.make()
    reader = Reader(tmp_path)
    open_when_somebody_waits(gate)
    reader.join(2)
    before = gate.password()
    with pytest.raises(NobodyWaitsError):
        open_parked(gate)

    assert gate.password() == before


def test_a_gate_that_is_there_is_kept_because_a_server_may_wait_at_it(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.make()
    before = (tmp_path / "go.conf").stat().st_ino
    Gate(tmp_path).make()

    assert (tmp_path / "go.conf").stat().st_ino == before


def test_a_file_in_place_of_the_gate_would_be_a_standing_answer_and_is_removed(tmp_path: Path) -> None:
    (tmp_path / "go.conf").write_text("port 6379\n")
    Gate(tmp_path).make()

    assert stat.S_ISFIFO((tmp_path / "go.conf").stat().st_mode)


def test_a_private_file_is_replaced_whole_and_readable_by_nobody_else(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "file", "one")
        write_private(tmp_path / "file", "two")
    finally:
        os.umask(before)

    assert (tmp_path / "file").read_text() == "two"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
