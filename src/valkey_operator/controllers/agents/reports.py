"""What the agents reported, newest first: in memory, for the leader alone.

Owns: which report is newer, and who hears of it. Refuses to know: how reports come (receiver.py, orders.py), and what
follows from them.

Reports of one node are kept apart by pod: while a node that was cut off comes back, the agent of a deleted pod may
report beside that of its successor, and must not hide it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from valkey_operator.core.node_view import ClusterNodeView, NodeView
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Change, Subscriber
from valkey_operator.runtime.queue import Lane
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import ProcessState

MOST_PODS = 3
_DOWN = frozenset({ProcessState.GONE, ProcessState.WAITING})


class Received(msgspec.Struct, frozen=True):
    """A report, and when it came, on the clock of the event loop."""

    view: NodeView
    at: float


def _keep_latest(pods: dict[str, Any]) -> None:
    """Of so many pods of a node the others are long gone."""
    if len(pods) > MOST_PODS:
        del pods[next(iter(pods))]


def report_lane(change: Change[NodeView]) -> Lane:
    """A server that died, waits to be let in, is no primary any more or misses one is urgent."""
    if change.initial:
        return Lane.RESYNC
    if change.new is None:
        return Lane.EDIT
    was_primary = change.old is not None and change.old.role is Role.PRIMARY
    is_lost = change.new.process in _DOWN or (was_primary and change.new.role is not Role.PRIMARY)
    is_urgent = is_lost or change.new.misses_primary
    return Lane.URGENT if is_urgent else Lane.EDIT


def without_positions(view: NodeView) -> NodeView:
    """The view without what moves with every write, and without its number."""
    link = view.link
    return msgspec.structs.replace(
        view,
        seq=0,
        clock_ms=0,
        offset=0,
        link=None if link is None else msgspec.structs.replace(link, received_offset=0),
        copy=msgspec.structs.replace(view.copy, offset=0),
        cluster=None if view.cluster is None else _without_counts(view.cluster),
    )


def _without_counts(view: ClusterNodeView) -> ClusterNodeView:
    """Of numbers of keys it is left whether there are any."""
    return msgspec.structs.replace(
        view,
        migrations=tuple(_without_age(each) for each in view.migrations),
        keys=min(view.keys, 1),
        keys_in_slots={slot: min(count, 1) for slot, count in view.keys_in_slots.items()},
        used_bytes=0,
    )


def _without_age(migration: SlotMigration) -> SlotMigration:
    under_way = migration.state is MigrationState.UNDER_WAY
    return msgspec.structs.replace(migration, updated_s=0) if under_way else migration


class Reports:
    """The newest report of each node; a key is a node's namespace and name."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # Of each node's pods the one that reported last is last.
        self._nodes: dict[Key, dict[str, Received]] = {}
        self._dropped: dict[Key, dict[str, NodeView]] = {}
        self._subscribers: list[Subscriber[NodeView]] = []

    def get(self, key: Key, pod_uid: str | None = None) -> Received | None:
        """The newest report of a node; with `pod_uid` only that of this pod."""
        pods = self._nodes.get(key, {})
        return pods.get(pod_uid) if pod_uid is not None else next(reversed(pods.values()), None)

    def drop(self, key: Key, pod_uid: str) -> None:
        """A pod's agent does not answer: what it said may be untrue by now, and what it said before that, too."""
        dropped = self._nodes.get(key, {}).pop(pod_uid, None)
        if dropped is not None:
            before = self._dropped.setdefault(key, {})
            before[pod_uid] = dropped.view
            _keep_latest(before)
            self._tell(Change(key, dropped.view, None))

    def put(self, key: Key, view: NodeView) -> None:
        """Keep a report, unless a newer one of the same agent is here; tell what changed beside offsets."""
        pods = self._nodes.setdefault(key, {})
        known, dropped = pods.get(view.pod_uid), self._dropped.get(key, {})
        last = known.view if known is not None else dropped.get(view.pod_uid)
        if last is not None and last.boot_id == view.boot_id and view.seq < last.seq:
            return
        pods.pop(view.pod_uid, None)
        dropped.pop(view.pod_uid, None)
        pods[view.pod_uid] = Received(view, self._clock())
        _keep_latest(pods)
        old = known.view if known is not None else None
        if old is None or without_positions(old) != without_positions(view):
            self._tell(Change(key, old, view))

    def forget(self, key: Key) -> None:
        """The node is gone."""
        last = self.get(key)
        self._nodes.pop(key, None)
        self._dropped.pop(key, None)
        if last is not None:
            self._tell(Change(key, last.view, None))

    def clear(self) -> None:
        """A term begins: what was heard in an earlier one may long be untrue, and another leader heard the rest."""
        self._nodes.clear()
        self._dropped.clear()

    def subscribe(self, subscriber: Subscriber[NodeView]) -> Callable[[], None]:
        """Tell every change from now on, after all that is there already; returns how to end it."""
        self._subscribers.append(subscriber)
        for key in sorted(self._nodes):
            for each in self._nodes[key].values():
                subscriber(Change(key, None, each.view, initial=True))
        return lambda: self._subscribers.remove(subscriber)

    def _tell(self, change: Change[NodeView]) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(change)
