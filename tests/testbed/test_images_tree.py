"""A root file system as plain values, and the normal form of a layer."""

import io
import tarfile
from pathlib import Path

import pytest

from testbed.images.tree import Entry, folder, layer, matcher, merge_usr, read_tree, symlink


def members(data: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getmembers()


def paths(entries: list[Entry]) -> list[str]:
    return sorted(entry.path for entry in entries)


def test_the_same_entries_in_any_order_give_the_same_bytes() -> None:
    entries = [Entry("b", data=b"2"), folder("a"), symlink("c", "b"), Entry("a/x", 0o755, b"1")]
    assert layer(entries) == layer(reversed(entries))


def test_a_layer_is_sorted_and_knows_no_time_and_no_names_of_users() -> None:
    found = members(layer([Entry("b", owner=999), Entry("a")]))
    assert [(m.name, m.mtime, m.uid, m.gid, m.uname) for m in found] == [("a", 0, 0, 0, ""), ("b", 0, 999, 999, "")]


def test_a_folder_stands_in_front_of_what_is_in_it_even_if_nobody_named_it() -> None:
    assert [m.name for m in members(layer([Entry("usr/bin/sh")]))] == ["usr", "usr/bin", "usr/bin/sh"]


def test_the_last_of_two_entries_with_one_path_wins() -> None:
    (only,) = members(layer([Entry("etc", kind=tarfile.DIRTYPE, mode=0o700), folder("etc")]))
    assert only.mode == 0o755


def test_a_tree_that_was_written_is_read_back(tmp_path: Path) -> None:
    entries = [folder("a", 0o777, 999), Entry("a/x", 0o755, b"content", owner=999), symlink("z", "a/x")]
    (tmp_path / "layer.tar").write_bytes(layer(entries))
    assert read_tree(tmp_path / "layer.tar") == entries


def test_devices_are_left_out_and_hard_links_become_files(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "in.tar", "w") as tar:
        file = tarfile.TarInfo("./first")
        file.size = 4
        tar.addfile(file, io.BytesIO(b"same"))
        for name, kind in (("./second", tarfile.LNKTYPE), ("./null", tarfile.CHRTYPE)):
            other = tarfile.TarInfo(name)
            other.type, other.linkname = kind, "./first"
            tar.addfile(other)
    assert [(e.path, e.data) for e in read_tree(tmp_path / "in.tar")] == [("first", b"same"), ("second", b"same")]


def test_no_file_keeps_the_right_to_change_its_user(tmp_path: Path) -> None:
    (tmp_path / "layer.tar").write_bytes(layer([Entry("usr/bin/su", 0o4755)]))
    assert [entry.mode for entry in read_tree(tmp_path / "layer.tar") if entry.path == "usr/bin/su"] == [0o755]


def test_bin_and_lib_move_below_usr_and_links_take_their_place() -> None:
    merged = merge_usr([folder("bin"), Entry("bin/sh"), folder("usr/bin"), Entry("usr/bin/env"), Entry("etc/passwd")])
    assert {"usr/bin/sh", "usr/bin/env", "etc/passwd"} <= set(paths(merged))
    assert [entry.link for entry in merged if entry.path == "bin"] == ["usr/bin"]


def test_merging_a_tree_that_is_merged_already_keeps_its_folders() -> None:
    merged = merge_usr([symlink("bin", "usr/bin"), folder("usr/bin"), Entry("usr/bin/env")])
    assert [entry.kind for entry in merged if entry.path == "usr/bin"] == [tarfile.DIRTYPE]


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("usr/share/doc", True),
        ("usr/share/doc/x/y", True),
        ("usr/share/docs", False),
        ("usr/lib/a/gconv/b", True),
        ("usr", False),
    ],
)
def test_a_glob_matches_a_path_and_all_below_it(path: str, *, matches: bool) -> None:
    assert matcher(["usr/share/doc", "usr/lib/*/gconv"])(path) is matches


def test_no_globs_match_nothing() -> None:
    assert not matcher([])("anything")
