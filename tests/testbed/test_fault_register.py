"""A fault is on file from before it is injected until after it is undone."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from testbed.errors import TestbedError
from testbed.faults import Fault, active, broken, heal, inject
from testbed.layout import Layout


@dataclass(frozen=True)
class Scribble(Fault):
    """Breaks by writing a file, mends by removing it."""

    path: str
    fails: bool = False
    kind: ClassVar[str] = "scribble"

    def check(self, layout: Layout) -> None:
        if "/nowhere/" in self.path:
            raise TestbedError("there is no such place")

    def inject(self, layout: Layout) -> None:
        assert active(layout) == [self]
        Path(self.path).touch()
        if self.fails:
            raise TestbedError("cut short")

    def undo(self, layout: Layout) -> None:
        assert self in active(layout)
        Path(self.path).unlink(missing_ok=True)


def layout_at(folder: Path) -> Layout:
    return cast("Layout", SimpleNamespace(faults=folder / "faults"))


def test_a_fault_is_active_until_it_is_healed(tmp_path: Path) -> None:
    layout, fault = layout_at(tmp_path), Scribble(str(tmp_path / "mark"))
    inject(layout, fault)
    assert active(layout) == [fault]
    assert (tmp_path / "mark").exists()

    heal(layout, fault)
    assert active(layout) == []
    assert not (tmp_path / "mark").exists()


def test_an_injection_that_fails_is_undone(tmp_path: Path) -> None:
    layout = layout_at(tmp_path)
    with pytest.raises(TestbedError, match="cut short"):
        inject(layout, Scribble(str(tmp_path / "mark"), fails=True))

    assert active(layout) == []
    assert not (tmp_path / "mark").exists()


def test_a_wrong_target_is_refused_before_anything_is_on_file(tmp_path: Path) -> None:
    layout = layout_at(tmp_path)
    with pytest.raises(TestbedError, match="no such place"):
        inject(layout, Scribble("/nowhere/mark"))

    assert active(layout) == []


def test_a_block_ends_with_the_fault_healed_whatever_happens_in_it(tmp_path: Path) -> None:
    layout = layout_at(tmp_path)
    with pytest.raises(KeyError), broken(layout, Scribble(str(tmp_path / "mark"))):
        raise KeyError

    assert active(layout) == []


def test_the_same_fault_twice_is_one(tmp_path: Path) -> None:
    layout, fault = layout_at(tmp_path), Scribble(str(tmp_path / "mark"))
    inject(layout, fault)
    inject(layout, fault)

    assert active(layout) == [fault]
