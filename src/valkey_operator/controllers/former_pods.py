"""Pods that are gone: whether they have ended for good, and where those were of which nobody knows.

Owns: remembering it. A pod has ended if Kubernetes says of every container of it that it was terminated. One that was
deleted by force leaves the API server before that, and its server may run on. After a machine has restarted, kubelet
starts the containers of the same pod again: then it has not ended.
Refuses to know: what follows from it (core/shard/proof.py).
"""

from valkey_operator.controllers.kinds import PodObject
from valkey_operator.kube.store import Change, Store

MOST_REMEMBERED = 10_000


class FormerPods:
    """Those that were seen to go; the oldest are forgotten."""

    def __init__(self, pods: Store[PodObject]) -> None:
        self._ended: dict[str, None] = {}
        self._vanished: dict[str, PodObject] = {}
        pods.subscribe(self._see)

    def has_ended(self, uid: str) -> bool:
        """Whether nothing of it runs any more."""
        return uid in self._ended

    def vanished(self, uid: str) -> PodObject | None:
        """How it was when it was deleted, if nobody knows whether it has ended."""
        return self._vanished.get(uid)

    def _see(self, change: Change[PodObject]) -> None:
        last = change.new or change.old
        if last is None:
            return
        if has_ended(last):
            self._ended[last.metadata.uid] = None
        elif change.new is None:
            self._vanished[last.metadata.uid] = last
        else:
            self._ended.pop(last.metadata.uid, None)
        for known in (self._ended, self._vanished):
            if len(known) > MOST_REMEMBERED:
                del known[next(iter(known))]


def has_ended(pod: PodObject) -> bool:
    """Whether nothing of it runs any more."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return bool(pod.status.container_statuses) and all(each.state.terminated is not None for each in statuses)
