"""The node as this agent knows it: looks at process and server, and keeps the report.

Owns: how often is looked, and what follows from what is seen. Refuses to know: who is told (events.py, rpc.py).
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import structlog

from valkey_operator.agent.cluster_look import observe_node
from valkey_operator.agent.cluster_state import NodesFile
from valkey_operator.agent.gate import Gate, write_private
from valkey_operator.agent.live_settings import (
    Configured,
    StartSettings,
    configured_by_start,
    settings_at_start,
    with_own_fence,
)
from valkey_operator.agent.modules import modules_in_image
from valkey_operator.agent.persisted import CopyMark, DataFolder, mark_of
from valkey_operator.agent.probes import check_ready
from valkey_operator.agent.promise import Promise, parse_promise, render_promise
from valkey_operator.agent.report import (
    Facts,
    Report,
    is_past_gate,
    is_running,
    may_have_to_hand_over,
    next_report,
)
from valkey_operator.agent.server import ServerConnection
from valkey_operator.agent.volume import VolumeLock, VolumeTakenError
from valkey_operator.agent.watch import ProcessId, ProcessTable, after_let_in, after_look
from valkey_operator.agent.whole import whole_after
from valkey_operator.valkey.boot import ModuleToLoad, Start
from valkey_operator.valkey.nodes_text import SUSPECTED
from valkey_operator.valkey.states import ProcessState

log = structlog.get_logger(__name__)

# Death must be known within 150 ms, on a busy machine too.
LOOK_EVERY_S = 0.05
LOOK_SOON_S = 0.01
ASK_EVERY_S = 0.5
ASK_SOON_S = 0.05
TAKE_EVERY_S = 0.25
# What lasts longer than this, such as a broken link, is not found sooner by asking often.
SOON_FOR_S = 30.0


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The shared folders, and what the agent needs to let a server in."""

    gate: Path
    data: Path
    port: int
    settings_file: Path | None = None
    password_file: Path | None = None
    modules: tuple[ModuleToLoad, ...] | None = None
    """None: every module of the image's own folder."""


class Node:
    """One server and its report. All methods run on the event loop of the agent."""

    def __init__(
        self, places: Places, gate: Gate, table: ProcessTable, *, connection: ServerConnection, first: Report
    ) -> None:
        self._places = places
        self._gate = gate
        self._table = table
        self.connection = connection
        self._data = DataFolder(places.data)
        self._nodes_file = NodesFile(places.data)
        self._volume = VolumeLock(places.data, first.pod_uid)
        self._promise_file = places.gate / "promise.json"
        self._leaving_file = places.gate / "leaving"
        self._whole_file = places.gate / "whole.json"
        self._configured_file = places.gate / "configured.json"
        # What the server reads: a copy, for the file itself may change at any moment.
        self._settings_copy = places.gate / "settings.conf"
        known = Facts(
            promise=self._read_promise(),
            whole=self._read_whole(),
            configured=self._read_configured(),
            kept_nodes=self._nodes_file.read(),
        )
        self.report = msgspec.structs.replace(first, facts=known)
        self._changed = asyncio.Condition()
        self._changed_at = 0.0
        self._ask_now = asyncio.Event()
        # Whoever changes what the server is takes it: an order, or a start by the record.
        self.turn = asyncio.Lock()

    async def watch_process(self) -> None:
        """Look at the process for ever. Apart from asking the server: one that hangs must not delay its own death."""
        while True:
            if self._look_at_process() | self._look_for_hook():
                self._ask_now.set()
                await self._tell()
            starting = self.report.facts.process.state is ProcessState.STARTING
            await asyncio.sleep(LOOK_SOON_S if starting else LOOK_EVERY_S)

    async def watch_server(self) -> None:
        """Ask the server for ever, at once after each change of its process, and more often until it is ready."""
        while True:
            self._ask_now.clear()
            await self.refresh()
            await self.mark_copy()
            with contextlib.suppress(TimeoutError):
                unchanged_s = asyncio.get_running_loop().time() - self._changed_at
                async with asyncio.timeout(ask_again_s(self.report.facts, unchanged_s)):
                    await self._ask_now.wait()

    async def take_volume(self) -> None:
        """Take the data folder, as soon as nobody else has it: an agent may start again while its server runs."""
        told = ""
        while True:
            try:
                return self._volume.take()
            except VolumeTakenError as problem:
                if str(problem) != told:
                    log.warning("the volume is taken", reason=str(problem))
                told = str(problem)
            await asyncio.sleep(TAKE_EVERY_S)

    async def see_server_off(self, within_s: float) -> None:
        """Everything of this pod ends at this moment: wait for the server, so that it leaves the data folder first."""
        self._volume.will_end()
        await self.wait_for(lambda report: not is_past_gate(report.facts), within_s=within_s)

    def leave_volume(self) -> None:
        """The agent ends: another pod may have the data folder, at once unless a server of ours has it."""
        self._look_at_process()
        self._volume.end(is_free=not is_past_gate(self.report.facts))

    async def refresh(self) -> Report:
        """Look at everything now, and return the report of it."""
        self._look_at_process()
        if is_running(self.report.facts):
            asked = self.report.facts.process
            view = await observe_node(self.connection)
            self._look_at_process()
            # Another process may have come while the answer was on its way.
            if self.report.facts.process == asked:
                self._update(server=view)
                self._keep_whole()
        self._update(persisted=self._data.look(), kept_nodes=self._read_kept_nodes(self.report.facts.process.state))
        self._look_for_hook()
        await self._tell()
        return self.report

    async def mark_copy(self) -> None:
        """Write the mark that the server's copy deserves, where it is another one than on file."""
        persisted = self.report.facts.persisted
        on_file = None if persisted.epoch is None else CopyMark(persisted.epoch, persisted.was_primary)
        mark = mark_of(self.report.facts)
        # In the middle of an order the promise is newer than what the server was seen as.
        if mark is None or mark == on_file or self.turn.locked():
            return
        try:
            # In a thread: a slow disk must not delay the news of a death.
            await asyncio.to_thread(self._data.write_mark, mark)
        except OSError as error:
            log.warning("the copy cannot be marked", reason=str(error))
            return
        log.info("marked the copy", epoch=mark.epoch, was_primary=mark.was_primary)
        self._update(persisted=self._data.look())
        await self._tell()

    def let_in(self, start: Start) -> None:
        """Answer at the gate; raises VolumeTakenError, and what Gate.open_as raises."""
        self._volume.take()
        self._look_at_process()
        settings = self._take_settings()
        self._gate.open_as(
            with_own_fence(start, settings),
            default_password=self.read_password(),
            port=self._places.port,
            settings_file=self._settings_copy,
            modules=self._modules(),
        )
        self._update(process=after_let_in(self.report.facts.process))
        log.info("let the server in", kind=start.kind)

    def _take_settings(self) -> StartSettings:
        """What the server at the gate will read, noted as what it has."""
        file, disk, process = self._places.settings_file, self._data.look(), self.report.facts.process.process
        text = "" if file is None else file.read_text()
        settings = settings_at_start(text, has_snapshot=disk.rdb, has_aof=disk.aof)
        write_private(self._settings_copy, settings.text)
        if process is not None:
            self.keep_configured(configured_by_start(process, settings))
        return settings

    def _modules(self) -> Sequence[ModuleToLoad]:
        process, given = self.report.facts.process.process, self._places.modules
        if given is not None:
            return given
        return modules_in_image(self._table.root_of(process)) if process else ()

    def work_of_server(self) -> int:
        """How long the server has computed, in clock ticks."""
        process = self.report.facts.process.process
        return 0 if process is None else self._table.work_of(process)

    def end_server(self, process: ProcessId) -> None:
        """Kill the server, if it is still this one."""
        try:
            self._table.kill(process)
        except OSError as error:
            log.warning("the server cannot be ended", pid=process.pid, reason=str(error))

    async def lose_whole(self) -> None:
        """The server follows another primary than before, and has no copy of that one's data until their link is up."""
        # A look that has begun already still sees the former link.
        await self.refresh()
        self._note_whole(None)

    def keep_promise(self, promise: Promise) -> None:
        """Remember a promise, on file first: a later agent of this pod is bound by it."""
        if promise != self.report.facts.promise:
            write_private(self._promise_file, render_promise(promise))
            self._update(promise=promise)

    def configured_of(self, process: ProcessId) -> Configured:
        """What is known of the live settings of this process."""
        known = self.report.facts.configured
        return known if known is not None and known.process == process else Configured(process=process)

    def keep_configured(self, configured: Configured) -> None:
        """Remember the live settings, on file first: a later agent cannot find them out."""
        if configured != self.report.facts.configured:
            write_private(self._configured_file, msgspec.json.encode(configured).decode())
            self._update(configured=configured)

    def note_primary(self, *, missed: bool) -> None:
        """Remember whether the primary is missed; whoever asks for the report hears of it from now on."""
        if missed != self.report.facts.misses_primary:
            log.info("the primary is missed" if missed else "the primary is there")
            self._update(misses_primary=missed)

    async def tell(self) -> None:
        """Let those hear of the report who wait for news."""
        await self._tell()

    async def wait_for(self, holds: Callable[[Report], bool], *, within_s: float | None = None) -> bool:
        """Wait until the report is such; whether it is."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                return await self._changed.wait_for(lambda: holds(self.report))
        except TimeoutError:
            return False

    def another_connection(self, *, binary: bool = False) -> ServerConnection:
        """Another connection to the server, for what others should not wait for; whoever asks for it closes it."""
        return ServerConnection(self._gate.socket, self._gate.password, binary=binary)

    def _look_at_process(self) -> bool:
        """Look once; whether anything changed."""
        before = self.report.facts.process
        process = after_look(before, self._table.look(before))
        if process == before:
            return False
        log.info("server process", state=process.state, was=before.state, starts=process.starts)
        # Together: a server at the gate whose file is not told would be taken for a new node of its cluster.
        self._update(process=process, server=None, kept_nodes=self._read_kept_nodes(process.state))
        return True

    def _look_for_hook(self) -> bool:
        """Look once whether the pod is being stopped; whether that is news.

        The hook that runs first makes a file, and waits until it is gone, for a bounded time. It goes once there is no
        primary any more, or nobody that could take over from it.
        """
        if not self._leaving_file.exists():
            return False
        if not may_have_to_hand_over(self.report.facts):
            self._leaving_file.unlink(missing_ok=True)
        news = not self.report.facts.leaving
        self._update(leaving=True)
        return news

    def _update(self, **changes: object) -> None:
        before = self.report.seq
        self.report = next_report(self.report, msgspec.structs.replace(self.report.facts, **changes))
        if self.report.seq != before:
            self._changed_at = asyncio.get_running_loop().time()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _keep_whole(self) -> None:
        """Remember that this process had all the data, on file first: a later agent cannot find it out."""
        self._note_whole(whole_after(self.report.facts))

    def _note_whole(self, whole: ProcessId | None) -> None:
        if whole != self.report.facts.whole:
            write_private(self._whole_file, msgspec.json.encode(whole).decode())
            self._update(whole=whole)

    def _read_whole(self) -> ProcessId | None:
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            return msgspec.json.decode(self._whole_file.read_bytes(), type=ProcessId | None)
        return None

    def _read_configured(self) -> Configured | None:
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            return msgspec.json.decode(self._configured_file.read_bytes(), type=Configured)
        return None

    def _read_kept_nodes(self, state: ProcessState) -> str:
        """A server that runs says itself whom it knows, and changes the file at any moment."""
        return "" if state is ProcessState.RUNNING else self._nodes_file.read()

    def _read_promise(self) -> Promise:
        with contextlib.suppress(FileNotFoundError):
            return parse_promise(self._promise_file.read_text())
        return Promise()

    def read_password(self) -> str | None:
        """The password of this moment. A Secret made of a text file ends in a line break that nobody types."""
        file = self._places.password_file
        return None if file is None else file.read_text().removesuffix("\n")


def ask_again_s(facts: Facts, unchanged_s: float) -> float:
    """When the server is asked next: soon while it is about to get ready, or may give another one up."""
    soon = is_running(facts) and (check_ready(facts) is not None or _is_in_doubt(facts)) and unchanged_s < SOON_FOR_S
    return ASK_SOON_S if soon else ASK_EVERY_S


def _is_in_doubt(facts: Facts) -> bool:
    """Whether it suspects another node of its cluster."""
    cluster = facts.server.cluster if facts.server else None
    return cluster is not None and SUSPECTED in cluster.nodes
