from pathlib import Path

import pytest

from valkey_operator.agent.watch import (
    NEXT_STATE,
    Look,
    ProcessId,
    ProcessTable,
    Sign,
    Watched,
    after_let_in,
    after_look,
)
from valkey_operator.valkey.states import ProcessState

ONE = ProcessId(7, 100)
SAME_NUMBER = ProcessId(7, 200)
STATES = list(ProcessState)


@pytest.mark.parametrize(
    ("before", "look", "after"),
    [
        (Watched(), Look(None), Watched()),
        (Watched(), Look(ONE), Watched(ProcessState.WAITING, ONE, 1)),
        (Watched(), Look(ONE, listens=True), Watched(ProcessState.RUNNING, ONE, 1)),
        (Watched(ProcessState.WAITING, ONE, 1), Look(ONE), Watched(ProcessState.WAITING, ONE, 1)),
        (Watched(ProcessState.STARTING, ONE, 1), Look(ONE), Watched(ProcessState.STARTING, ONE, 1)),
        (Watched(ProcessState.STARTING, ONE, 1), Look(ONE, listens=True), Watched(ProcessState.RUNNING, ONE, 1)),
        (Watched(ProcessState.RUNNING, ONE, 1), Look(ONE), Watched(ProcessState.RUNNING, ONE, 1)),
        (Watched(ProcessState.RUNNING, ONE, 1), Look(None), Watched(ProcessState.GONE, ONE, 1)),
        (Watched(ProcessState.GONE, ONE, 1), Look(None), Watched(ProcessState.GONE, ONE, 1)),
        (Watched(ProcessState.GONE, ONE, 1), Look(SAME_NUMBER), Watched(ProcessState.WAITING, SAME_NUMBER, 2)),
        (Watched(ProcessState.RUNNING, ONE, 1), Look(SAME_NUMBER), Watched(ProcessState.WAITING, SAME_NUMBER, 2)),
        (Watched(ProcessState.STARTING, ONE, 1), Look(SAME_NUMBER), Watched(ProcessState.WAITING, SAME_NUMBER, 2)),
    ],
)
def test_a_look_moves_the_state_as_the_table_says(before: Watched, look: Look, after: Watched) -> None:
    assert after_look(before, look) == after


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sign", [sign for sign in Sign if sign is not Sign.LET_IN])
def test_the_table_answers_every_sign_in_every_state(state: ProcessState, sign: Sign) -> None:
    assert (state, sign) in NEXT_STATE


@pytest.mark.parametrize("state", STATES)
def test_only_a_waiting_server_can_be_let_in(state: ProcessState) -> None:
    expected = ProcessState.STARTING if state is ProcessState.WAITING else state
    assert after_let_in(Watched(state, ONE, 1)).state is expected


class FakeProc:
    """A folder that looks like /proc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = ProcessTable(Path("/boot/boot.conf"), lambda _: False, folder)

    def add(self, pid: int, cmdline: bytes, *, parent: int = 0, start: int = 100, memory: bool = True) -> None:
        process = self.folder / str(pid)
        process.mkdir(exist_ok=True)
        (process / "cmdline").write_bytes(cmdline)
        fields = ["S", str(parent), *["0"] * 17, str(start), "0"]
        (process / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}\n")
        (process / "status").write_text("Name:\tx\n" + ("VmRSS:\t 1 kB\n" if memory else ""))


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.mark.parametrize(
    "cmdline", [b"valkey-server\0/boot/boot.conf\0", b"/usr/bin/valkey-server /boot/boot.conf\0\0\0"]
)
def test_the_server_is_found_by_its_title_before_and_after_it_sets_its_own(proc: FakeProc, cmdline: bytes) -> None:
    proc.add(1, b"/pause\0")
    proc.add(9, cmdline)
    assert proc.table.look(Watched()) == Look(ProcessId(9, 100))


def test_a_saving_child_is_not_the_server(proc: FakeProc) -> None:
    proc.add(6, b"valkey-rdb-bgsave /boot/boot.conf\0")
    proc.add(7, b"valkey-server /boot/boot.conf\0", parent=9)
    proc.add(9, b"valkey-server /boot/boot.conf\0")
    assert proc.table.look(Watched()).process == ProcessId(9, 100)


def test_a_process_without_memory_is_dead_although_it_is_still_listed(proc: FakeProc) -> None:
    proc.add(9, b"valkey-server /boot/boot.conf\0", memory=False)
    assert proc.table.look(Watched(ProcessState.RUNNING, ProcessId(9, 100), 1)) == Look(None)


def test_a_number_that_comes_again_is_another_process(proc: FakeProc) -> None:
    proc.add(9, b"valkey-server\0/boot/boot.conf\0", start=300)
    assert proc.table.look(Watched(ProcessState.RUNNING, ProcessId(9, 100), 1)) == Look(ProcessId(9, 300))


def test_other_processes_and_half_gone_ones_are_passed_over(proc: FakeProc) -> None:
    (proc.folder / "5").mkdir()
    proc.add(6, b"valkey-cli\0/boot/boot.conf.old\0")
    assert proc.table.look(Watched()) == Look(None)
