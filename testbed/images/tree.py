"""A root file system as plain values: read from a tar, pruned, completed, written as bytes that never vary.

Owns: what a file in an image is, and the normal form of a layer. Refuses to know: what a package or an image is.
"""

import io
import re
import stat
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path, PurePosixPath

MERGED_INTO_USR = ("bin", "lib", "lib64", "sbin")
KINDS = {tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE}


@dataclass(frozen=True)
class Entry:
    """A file, folder or symbolic link; `path` is relative to the root, without a leading dot or slash."""

    path: str
    mode: int = 0o644
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: str = ""
    owner: int = 0


def folder(path: str, mode: int = 0o755, owner: int = 0) -> Entry:
    return Entry(path, mode, kind=tarfile.DIRTYPE, owner=owner)


def symlink(path: str, target: str) -> Entry:
    return Entry(path, 0o777, kind=tarfile.SYMTYPE, link=target)


def read_tree(tar_file: Path) -> list[Entry]:
    """Files, folders and links; device nodes are left out, because a container gets its own."""
    with tarfile.open(tar_file) as tar:
        found = (read_entry(tar, member) for member in tar)
        return [entry for entry in found if entry is not None]


def read_entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Entry | None:
    path = str(PurePosixPath(member.name.lstrip("/")))
    # A hard link becomes a file of its own, so that pruning its twin can't break it.
    kind = tarfile.REGTYPE if member.islnk() else member.type
    if path == "." or kind not in KINDS:
        return None
    content = tar.extractfile(member) if kind == tarfile.REGTYPE else None
    data = content.read() if content else b""
    # Nothing in an image may raise its rights.
    mode = member.mode & ~(stat.S_ISUID | stat.S_ISGID)
    return Entry(path, mode, data, kind, member.linkname if member.issym() else "", member.uid)


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path is one of these or below one of these; `*` crosses slashes."""
    pattern = re.compile("|".join(translate(form) for glob in globs for form in (glob, f"{glob}/*")) or r"(?!)")
    return lambda path: pattern.match(path) is not None


def merge_usr(entries: Iterable[Entry]) -> list[Entry]:
    """Move /bin, /lib and so on below /usr: Debian 12's packages still ship both, and expect them to be one."""
    moved = [
        replace(entry, path=f"usr/{entry.path}") if entry.path.split("/")[0] in MERGED_INTO_USR else entry
        for entry in entries
    ]
    # Where a newer base-files ships the root's links, moving made self-links of them; the real folders come back below.
    kept = [entry for entry in moved if not (is_top(entry) and entry.kind == tarfile.SYMTYPE)]
    return [*kept, *(symlink(top, f"usr/{top}") for top in MERGED_INTO_USR)]


def is_top(entry: Entry) -> bool:
    return entry.path in {f"usr/{top}" for top in MERGED_INTO_USR}


def with_parents(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Every entry by its path, the last one winning, and a folder for each parent that nobody named."""
    tree = {entry.path: entry for entry in entries}
    for path in list(tree):
        for parent in list(PurePosixPath(path).parents)[:-1]:
            tree.setdefault(str(parent), folder(str(parent)))
    return tree


def layer(entries: Iterable[Entry]) -> bytes:
    """An uncompressed layer: the same entries, in any order, always give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for _, entry in sorted(with_parents(entries).items()):
            tar.addfile(header(entry), io.BytesIO(entry.data))
    return out.getvalue()


def header(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path)
    info.mode, info.type, info.linkname, info.size = entry.mode, entry.kind, entry.link, len(entry.data)
    info.uid = info.gid = entry.owner
    return info
