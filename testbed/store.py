"""The cache of built things: looked up by what they are made from, made once, published whole or not at all.

Owns: keys, locks, publication, pruning. Refuses to know: what is being made.
Invariants: a path without a dot in front is complete, whatever was killed; one process at a time makes one thing.
"""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Old ones stay for a while: two clones with different locks may share the cache.
KEPT_PER_NAME = 3


def fingerprint(inputs: Iterable[str | bytes | Path]) -> str:
    """A short key over texts, and over files and folders by their names and contents; a missing file counts as none."""
    total = hashlib.sha256()
    for item in inputs:
        parts = file_parts(item) if isinstance(item, Path) else [item.encode() if isinstance(item, str) else item]
        for part in parts:
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def file_parts(path: Path) -> Iterator[bytes]:
    if path.is_file():
        yield path.name.encode()
        yield path.read_bytes()
    for below in sorted(path.rglob("*")):
        if below.is_file() and "__pycache__" not in below.parts:
            yield str(below.relative_to(path)).encode()
            yield below.read_bytes()


def published(cache: Path, name: str, key: str, *, suffix: str = "", make: Callable[[Path], Path]) -> Path:
    """The file or folder of this name and key.

    If there is none, `make` gets an empty folder to work in and returns what it made there.
    """
    target = cache / f"{name}-{key}{suffix}"
    if target.exists():
        return target
    with exclusive(cache, name):
        if not target.exists():
            with workroom(cache, name) as room:
                make(room).rename(target)
            prune(cache, name, suffix)
    return target


@contextmanager
def exclusive(cache: Path, name: str) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def workroom(cache: Path, name: str) -> Iterator[Path]:
    """An empty folder. What a killed maker left is cleared away; a program it started may still be writing there."""
    for left in cache.glob(f".{name}.work-*"):
        shutil.rmtree(left, ignore_errors=True)
    room = Path(tempfile.mkdtemp(prefix=f".{name}.work-", dir=cache))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def prune(cache: Path, name: str, suffix: str) -> None:
    keyed = cache.glob(f"{name}-{'[0-9a-f]' * 16}{suffix}")
    for old in sorted(keyed, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_PER_NAME:]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
