"""Pods of the model, the places where they run, and how one looks from outside.

Owns: what a pod consists of, and its agent's report. Refuses to know: what happens to it.
"""

from dataclasses import dataclass, field

import msgspec

from tests.sim.shard_agents import Agent, Machine
from tests.sim.shard_servers import Disk, Server
from tests.support.shards import address_of
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.core.shard.facts import PARKED_AT
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.states import Health, ProcessState


@dataclass(eq=False)
class Pod:
    """A ghost is one whose object was deleted by force, while all of it runs on where nobody sees it."""

    uid: str
    node: str
    generation: int
    agent: Agent
    server: Server | None = None
    mark: tuple[int, bool] = (0, False)
    """Of the copy on disk: the epoch in which it was last whole, and whether by a primary."""
    leaving_in: int | None = None
    leaves_by_plan: bool = False
    is_ghost: bool = False
    was_alone: bool = False
    """Nobody could take over from it when it became a ghost, so it needs nobody's leave, and nobody can take it."""
    ends_in: int | None = None
    """Ticks until a ghost is found and ended."""


@dataclass(eq=False)
class Place:
    """Where a node is, was or may be: its volume outlives it."""

    name: str
    index: int
    exists: bool = False
    pod: Pod | None = None
    disk: Disk | None = None
    has_volume: bool = False
    machine: Machine = field(default_factory=Machine)
    cordoned: bool = False
    pace: int = 3
    """How many values it takes over at once, at most."""

    @property
    def server(self) -> Server | None:
        return self.pod.server if self.pod else None


def boot_id_of(pod: Pod) -> str:
    return f"{pod.uid}-{pod.agent.boots}"


def report(pod: Pod, disk: Disk | None, *, seq: int, now: float, append_only: bool) -> NodeView:
    """What the agent of a pod says at this moment."""
    server, agent = pod.server, pod.agent
    agent.settle(server, now)
    view = NodeView(
        pod_uid=pod.uid,
        boot_id=boot_id_of(pod),
        seq=seq,
        clock_ms=int(now * 1000),
        process=ProcessState.GONE if server is None else ProcessState.WAITING,
        copy=_unsaved(pod) if disk is None else _describe(disk, append_only=append_only),
        promised_term=agent.promise.term,
        promised_epoch=agent.promise.epoch,
        terms=agent.promise.terms,
        leaving=pod.leaving_in is not None,
        misses_primary=agent.misses_primary(server, now),
    )
    if server is None or server.role is None:
        return view
    if server.hung:
        return msgspec.structs.replace(
            view, process=ProcessState.RUNNING, health=Health.HUNG, whole=server.whole, fenced=None
        )
    primary = PARKED_AT if server.follows is None else address_of(server.follows)
    return msgspec.structs.replace(
        view,
        process=ProcessState.RUNNING,
        health=Health.ANSWERS,
        role=server.role,
        replication_id=server.history,
        offset=server.offset,
        former_replication_id=server.former,
        former_id_valid_below=server.former_below,
        link=None if server.is_primary else LinkView(primary=primary, up=server.linked),
        good_replicas=server.attached(now) if server.least else None,
        whole=server.whole,
        fenced=server.is_primary and server.least == FENCED,
    )


def _unsaved(pod: Pod) -> CopyView:
    """The mark of a copy that is in memory alone."""
    epoch, was_primary = pod.mark
    return CopyView(epoch=epoch or None, was_primary=was_primary)


def _describe(disk: Disk, *, append_only: bool) -> CopyView:
    return CopyView(
        rdb=not append_only,
        aof=append_only,
        epoch=disk.epoch,
        was_primary=disk.was_primary,
        offset=0 if append_only else disk.offset,
    )
