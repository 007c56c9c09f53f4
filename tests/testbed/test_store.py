"""The cache of built things: keys, whole publication, one maker at a time."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from testbed import store

KEY = "0123456789abcdef"


def make_file(room: Path) -> Path:
    (room / "made").write_text("whole")
    return room / "made"


def refuse(room: Path) -> Path:
    pytest.fail(f"made again in {room}")


def make_slowly(room: Path) -> Path:
    with (room.parent / "makers").open("a") as log:
        log.write("x")
    time.sleep(0.3)
    return make_file(room)


def publish_slowly(cache: Path) -> None:
    store.published(cache, "thing", KEY, make=make_slowly)


def hang_half_way(cache: Path) -> None:
    def make(room: Path) -> Path:
        (room / "made").write_text("ha")
        (cache / "begun").touch()
        time.sleep(60)
        return room / "made"

    store.published(cache, "thing", KEY, make=make)


def test_a_second_call_makes_nothing(tmp_path: Path) -> None:
    first = store.published(tmp_path, "thing", KEY, suffix=".tar", make=make_file)
    assert first == store.published(tmp_path, "thing", KEY, suffix=".tar", make=refuse)
    assert first.name == f"thing-{KEY}.tar"


def test_a_failure_leaves_nothing_and_the_next_call_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        store.published(tmp_path, "thing", KEY, make=lambda room: room / str(1 // 0))
    assert [path.name for path in tmp_path.iterdir()] == [".thing.lock"]
    assert store.published(tmp_path, "thing", KEY, make=make_file).read_text() == "whole"


def test_a_maker_killed_half_way_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    maker = multiprocessing.get_context("fork").Process(target=hang_half_way, args=(tmp_path,))
    maker.start()
    wait_for(tmp_path / "begun")
    assert maker.pid
    os.kill(maker.pid, signal.SIGKILL)
    maker.join(10)
    assert not (tmp_path / f"thing-{KEY}").exists()
    assert store.published(tmp_path, "thing", KEY, make=make_file).read_text() == "whole"
    assert not list(tmp_path.glob(".thing.work*"))


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear in 10 s"
        time.sleep(0.01)


def test_of_two_processes_that_want_the_same_only_one_makes_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    makers = [context.Process(target=publish_slowly, args=(tmp_path,)) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(20)
    assert [maker.exitcode for maker in makers] == [0, 0]
    assert (tmp_path / "makers").read_text() == "x"


def test_only_the_newest_few_of_one_name_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        made = store.published(tmp_path, "thing", f"{number:016x}", make=make_file)
        os.utime(made, (number, number))
    store.published(tmp_path, "thing-rootfs", KEY, make=make_file)
    kept = sorted(path.name for path in tmp_path.glob("thing-*"))
    assert kept == [*(f"thing-{number:016x}" for number in (2, 3, 4)), f"thing-rootfs-{KEY}"]


def test_a_key_depends_on_the_content_and_the_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("1")
    keys = [store.fingerprint([tmp_path / "src"])]
    (tmp_path / "src/a.py").write_text("2")
    keys.append(store.fingerprint([tmp_path / "src"]))
    (tmp_path / "src/a.py").rename(tmp_path / "src/b.py")
    keys.append(store.fingerprint([tmp_path / "src"]))
    assert len(set(keys)) == 3


def test_a_key_ignores_bytecode(tmp_path: Path) -> None:
    before = store.fingerprint([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").touch()
    assert store.fingerprint([tmp_path]) == before


def test_the_border_between_two_inputs_matters() -> None:
    assert store.fingerprint(["ab", "c"]) != store.fingerprint(["a", "bc"])
