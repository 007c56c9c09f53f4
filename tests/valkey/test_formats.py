"""Which version reads what another wrote: the ground on which an image is refused (core/version_change.py)."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import valkey

from testbed.images.catalogue import VALKEY_VERSIONS
from tests.valkey.servers import Server, running, start, wait_until_it_answers

WITHIN_S = 20
PAIRS = [(old, new) for old in VALKEY_VERSIONS for new in VALKEY_VERSIONS if old != new]
READS = [(writer, reader) for writer, reader in PAIRS if writer.split(".")[0] <= reader.split(".")[0]]
CANNOT = [pair for pair in PAIRS if pair not in READS]
FUNCTION = "#!lua name=f\nredis.register_function('f', function() return 1 end)"


def fill(client: valkey.Valkey) -> Any:
    """Some of every type, small and large ones; how many keys that are."""
    many = [f"member-{number}" for number in range(300)]
    client.set("string", "v", ex=10_000)
    client.rpush("list", *many)
    client.sadd("set", *many)
    client.sadd("numbers", *range(300))
    client.hset("hash", mapping=dict.fromkeys(many, "v"))
    client.zadd("sorted", dict.fromkeys(many, 1.5))
    client.xadd("stream", {"field": "value"})
    client.xgroup_create("stream", "group")
    client.pfadd("count", *many)
    client.function_load(FUNCTION)
    return client.dbsize()


@contextmanager
def written_by(version: str, *, aof: bool) -> Iterator[tuple[Path, int]]:
    """The folder of a server that has written all of it, and how many keys there are."""
    with running(version, appendonly="yes" if aof else "no") as server, server.client() as client:
        count = fill(client)
        if aof:
            client.bgrewriteaof()
            wait_for(server, "aof_rewrite_in_progress:0\r", "aof_rewrite_scheduled:0\r")
        else:
            client.save()
        yield server.folder, count


def wait_for(server: Server, *lines: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not all(line in server.info() for line in lines):
        assert time.monotonic() < deadline, f"not within {WITHIN_S} s: {lines}; {server.info()}"
        time.sleep(0.05)


@contextmanager
def started_with(version: str, files: Path, folder: Path, *, aof: bool) -> Iterator[Server]:
    shutil.copytree(files, folder, ignore=shutil.ignore_patterns("*.log"))
    server = start(version, folder, {"appendonly": "yes" if aof else "no"})
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait(timeout=10)


@pytest.mark.parametrize("aof", [False, True], ids=["rdb", "aof"])
@pytest.mark.parametrize(("writer", "reader"), READS)
def test_a_newer_version_and_any_of_the_same_major_reads_the_files(
    writer: str, reader: str, tmp_path: Path, *, aof: bool
) -> None:
    with (
        written_by(writer, aof=aof) as (files, count),
        started_with(reader, files, tmp_path / "read", aof=aof) as server,
    ):
        wait_until_it_answers(server)
        with server.client() as client:
            assert client.dbsize() == count


@pytest.mark.parametrize("aof", [False, True], ids=["rdb", "aof"])
@pytest.mark.parametrize(("writer", "reader"), CANNOT)
def test_an_older_major_ends_at_the_files_of_a_newer_one(
    writer: str, reader: str, tmp_path: Path, *, aof: bool
) -> None:
    with written_by(writer, aof=aof) as (files, _), started_with(reader, files, tmp_path / "read", aof=aof) as server:
        assert server.process.wait(timeout=WITHIN_S) != 0
        assert any(words in server.log() for words in ("RDB format", "Wrong signature", "Bad file format"))


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_a_replica_of_any_version_copies_from_a_primary_of_any_other(writer: str, reader: str) -> None:
    """So a roll from one to another goes on under load; a downgrade fails at the files alone."""
    with running(writer) as primary, primary.client() as client:
        count = fill(client)
        with running(reader, replicaof=f"127.0.0.1 {primary.port}") as replica, replica.client() as copy:
            wait_for(replica, "master_link_status:up")
            assert copy.dbsize() == count
