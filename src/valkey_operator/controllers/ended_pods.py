"""Pods that have ended for good: Kubernetes says of every container of theirs that it was terminated.

Owns: remembering it of pods that are gone. One that was deleted by force leaves the API server before anybody knows
what became of it, and is not among them. Refuses to know: what follows from it (core/shard/proof.py).
"""

from valkey_operator.controllers.kinds import PodObject
from valkey_operator.kube.store import Change, Store

MOST_REMEMBERED = 10_000


class EndedPods:
    """Those that were seen to end; the oldest are forgotten."""

    def __init__(self, pods: Store[PodObject]) -> None:
        self._uids: dict[str, None] = {}
        pods.subscribe(self._see)

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def _see(self, change: Change[PodObject]) -> None:
        last = change.new or change.old
        if last is not None and has_ended(last):
            self._uids[last.metadata.uid] = None
            if len(self._uids) > MOST_REMEMBERED:
                del self._uids[next(iter(self._uids))]


def has_ended(pod: PodObject) -> bool:
    """Whether nothing of it runs any more."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return bool(pod.status.container_statuses) and all(each.state.terminated is not None for each in statuses)
