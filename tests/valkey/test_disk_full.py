"""Servers whose disk is full, on file systems of a few MiB of their own: what their agent tells, and how they heal."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import valkey

from testbed.faults.disks import BALLAST, fill
from tests.support.render import effective
from tests.valkey.gated import Pod, pod, wait_until
from tests.valkey.gated_agent import ORDER, Agent
from valkey_operator.agent.disk import save_again
from valkey_operator.core.render.directives import directives_for, listed
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.conf import render_conf

pytestmark = [
    pytest.mark.root,
    pytest.mark.every_version,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts"),
]

AOF = {"persistence": {"rdb": {"enabled": False}, "aof": {"enabled": True}}}


class Healing(Agent):
    """An agent as it runs beside a server."""

    def works(self) -> list[Coroutine[None, None, None]]:
        return [*super().works(), save_again(self.node)]


@contextlib.contextmanager
def small_pod(version: str, folder: Path) -> Iterator[Pod]:
    """A pod whose data are on a file system of their own."""
    data = folder / "data"
    data.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(data)], check=True, timeout=10)
    try:
        with pod(version, folder) as made:
            yield made
    finally:
        subprocess.run(["umount", str(data)], check=True, timeout=10)


def settings_of(made: Pod, **spec: object) -> Path:
    """What the operator gives a server by this spec."""
    file = made.folder / "operator.conf"
    file.write_text(render_conf(listed(directives_for(effective(**spec), {}))))
    return file


def fill_disk(made: Pod) -> None:
    fill(made.folder / "data" / BALLAST)


def free_disk(made: Pod) -> None:
    (made.folder / "data" / BALLAST).unlink()


def refusal_of(made: Pod) -> str | None:
    """Why a write is refused; None: it is taken."""
    try:
        made.agent_client().set("key", "x" * 5000)
    except valkey.ResponseError as refusal:
        return str(refusal)
    return None


def persistence_of(made: Pod) -> dict[str, Any]:
    found: Any = made.agent_client().info("persistence")
    return dict(found)


async def until_refused(made: Pod, wanted: str) -> None:
    def refused() -> bool:
        return wanted in (refusal_of(made) or "")

    await asyncio.to_thread(wait_until, f"writes are refused: {wanted}", refused, made.log)


async def until_taken(made: Pod) -> None:
    await asyncio.to_thread(wait_until, "writes are taken", lambda: refusal_of(made) is None, made.log)


def test_a_snapshot_that_failed_is_told_and_writes_go_on_once_there_is_space(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Healing(made, settings_file=settings_of(made))
        async with agent.working():
            made.start_server()
            report = await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            assert not report.HasField("disk_error")
            fill_disk(made)
            made.agent_client().bgsave()
            await agent.wait_for("the error is told", lambda report: report.disk_error == pb.DISK_ERROR_SNAPSHOT)
            await until_refused(made, "MISCONF Valkey is configured to save RDB snapshots")
            free_disk(made)
            await until_taken(made)
            await agent.wait_for("it is over", lambda report: not report.HasField("disk_error"))

    with small_pod(version, tmp_path) as made:
        asyncio.run(run(made))


def test_an_append_only_file_that_failed_is_told_and_heals_by_itself(version: str, tmp_path: Path) -> None:
    async def run(made: Pod) -> None:
        agent = Agent(made, settings_file=settings_of(made, **AOF))
        async with agent.working():
            made.start_server()
            await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            fill_disk(made)
            await until_refused(made, "MISCONF Errors writing to the AOF file")
            await agent.wait_for("the error is told", lambda report: report.disk_error == pb.DISK_ERROR_AOF)
            free_disk(made)
            await until_taken(made)
            await agent.wait_for("it is over", lambda report: not report.HasField("disk_error"))

    with small_pod(version, tmp_path) as made:
        asyncio.run(run(made))


@pytest.mark.parametrize("harmless", [{"stop-writes-on-bgsave-error": False}, {"save": ""}], ids=str)
def test_a_snapshot_that_failed_and_stops_nobody_is_not_told(
    version: str, tmp_path: Path, harmless: dict[str, object]
) -> None:
    async def run(made: Pod) -> None:
        agent = Agent(made, settings_file=settings_of(made, config=harmless))
        async with agent.working():
            made.start_server()
            await agent.open(pb.START_KIND_WRITABLE_PRIMARY)
            fill_disk(made)
            made.agent_client().bgsave()

            def failed() -> bool:
                return bool(persistence_of(made)["rdb_last_bgsave_status"] == "err")

            await asyncio.to_thread(wait_until, "the snapshot failed", failed, made.log)
            report = await agent.service.report(pb.ReportRequest())
            assert (report.HasField("disk_error"), refusal_of(made)) == (False, None)

    with small_pod(version, tmp_path) as made:
        asyncio.run(run(made))


@pytest.mark.parametrize(
    ("spec", "error"), [({}, pb.DISK_ERROR_SNAPSHOT), (AOF, pb.DISK_ERROR_AOF)], ids=["snapshot", "append-only file"]
)
def test_a_replica_with_a_full_disk_tells_it_and_goes_on_following(
    version: str, tmp_path: Path, spec: dict[str, object], error: pb.DiskError
) -> None:
    async def run(primary: Pod, replica: Pod) -> None:
        first = Agent(primary, settings_file=settings_of(primary, **spec))
        second = Healing(replica, settings_file=settings_of(replica, **spec))
        async with first.working(), second.working():
            server = await follow(first, primary, second, replica)
            await until_rewritten(replica)
            fill_disk(replica)
            if error == pb.DISK_ERROR_SNAPSHOT:
                replica.agent_client().bgsave()
            client = primary.agent_client()

            def told(report: pb.NodeReport) -> bool:
                # Something must be written, and some files have a little room left in their last block.
                client.set("key", "x" * 5000)
                return report.disk_error == error

            await second.wait_for("the error is told", told)
            client.set("late", "yes")
            assert client.wait(1, 10_000) == 1
            assert (server.poll(), replica.agent_client().get("late")) == (None, "yes")
            free_disk(replica)
            await second.wait_for("it is over", lambda report: not report.HasField("disk_error"))

    with pod(version, tmp_path / "a") as primary, small_pod(version, tmp_path / "b") as replica:
        asyncio.run(run(primary, replica))


async def until_rewritten(made: Pod) -> None:
    """A replica that got a whole copy begins its append-only file anew, and writes nothing to it until that is done."""

    def done() -> bool:
        found = persistence_of(made)
        return not (found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"])

    await asyncio.to_thread(wait_until, "the append-only file is begun", done, made.log)


async def follow(first: Agent, primary: Pod, second: Agent, replica: Pod) -> "subprocess.Popen[bytes]":
    primary.start_server()
    await first.open(pb.START_KIND_WRITABLE_PRIMARY)
    server = replica.start_server()
    await second.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
    address = pb.Address(host="127.0.0.1", port=primary.port)
    await second.obey("Open", pb.OpenRequest(order=ORDER, kind=pb.START_KIND_REPLICA, primary=address))
    await second.wait_for("the link is up", lambda report: report.replication.link.up)
    return server
