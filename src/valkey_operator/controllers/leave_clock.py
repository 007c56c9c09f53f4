"""How long nobody has got leave to write in an older epoch of a cluster: that ends what was given before.

Owns: the moment, by our own clock and within our own term. A record counts from when it was first seen in the cache,
from which leave is given too (agents/grants.py); another leader gave none after our term began.
Refuses to know: what must be seen for it (core/cluster/leave.py), and what follows from it.
"""

import asyncio

import msgspec

from valkey_operator.core.cluster.facts import ClusterFacts
from valkey_operator.core.cluster.leave import RUNS_OUT_AFTER_S, is_run_out
from valkey_operator.kube.objects import Key


class LeaveClock:
    """For one term."""

    def __init__(self, lasts_s: float = RUNS_OUT_AFTER_S) -> None:
        self._lasts_s = lasts_s
        self._since: dict[Key, tuple[int, float]] = {}

    def forget(self, cluster: Key) -> None:
        """It is gone."""
        self._since.pop(cluster, None)

    def judge(self, cluster: Key, facts: ClusterFacts) -> ClusterFacts:
        """With those who cannot write any more, of those who get no leave in the present epoch."""
        leave = facts.record.leave
        if leave is None or not leave.without:
            self.forget(cluster)
            return facts
        now = asyncio.get_running_loop().time()
        epoch, since = self._since.get(cluster, (-1, now))
        if epoch != leave.epoch:
            # Looked at once: whoever promised an epoch keeps to it, heard of or not.
            if not is_run_out(leave, facts.members):
                return facts
            since = now
            self._since[cluster] = (leave.epoch, since)
        if now - since <= self._lasts_s:
            return facts
        members = (msgspec.structs.replace(each, writes_ended=each.name in leave.without) for each in facts.members)
        return msgspec.structs.replace(facts, members=tuple(members))
