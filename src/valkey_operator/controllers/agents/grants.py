"""Leave to write that the leader gives: to the primary on record, in its epoch, while no change is announced.

In a cluster to all nodes but those that the record leaves out.

Owns: the answer, and when leave was given last. A primary asks only when its replicas do not suffice.
Refuses to know: how it asks (receiver.py).
"""

from collections.abc import Callable

from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.core.names import CLUSTER_KIND, cluster_place
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Store


class Grants:
    """Of one leader; gives no leave before it knows the records."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._records: Store[ShardObject] | None = None
        self._begun = clock()
        self._given: dict[Key, float] = {}

    def read_from(self, records: Store[ShardObject]) -> None:
        """Know the records."""
        self._records = records

    def begin(self) -> None:
        """A term begins; whatever was given before it lasts on from now."""
        self._begun = self._clock()
        self._given.clear()

    def may_write(self, node: Key, epoch: int, pod_uid: str) -> bool:
        """Whether a node may write in an epoch; where somebody could take over, only its pod that is on record.

        A later one has lost what those have who could.
        """
        shard = Key(node.namespace, node.name.rpartition("-")[0])
        found = self._records.get(shard) if self._records is not None else None
        if found is None or found.spec.owner.kind == CLUSTER_KIND:
            return self._may_write_in_cluster(node, epoch)
        if (found.spec.primary, found.spec.epoch, found.spec.pending) != (node.name, epoch, None):
            return False
        if found.spec.promotable and found.spec.primary_pod not in {None, pod_uid}:
            return False
        self._given[shard] = self._clock()
        return True

    def _may_write_in_cluster(self, node: Key, epoch: int) -> bool:
        cluster = Key(node.namespace, node.name.rpartition("-")[0].rpartition("-")[0])
        found = self._records.get(cluster) if self._records is not None else None
        if found is None or found.spec.owner.kind != CLUSTER_KIND or cluster_place(cluster.name, node.name) is None:
            return False
        leave = found.spec.cluster.leave if found.spec.cluster is not None else None
        return leave is not None and found.spec.epoch == epoch and node.name not in (leave.without or ())

    def last_given(self, shard: Key) -> float:
        """After which moment no leave was given: by this leader, by one before it, or for want of any."""
        return self._given.get(shard, self._begun)
