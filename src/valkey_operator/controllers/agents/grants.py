"""Leave to write that the leader gives: to the primary on record, in its epoch, while no change is announced.

Owns: the answer. A primary asks only when its replicas do not suffice. Refuses to know: how it asks (receiver.py).
"""

from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Store


class Grants:
    """Of one leader; gives no leave before it knows the records."""

    def __init__(self) -> None:
        self._records: Store[ShardObject] | None = None

    def read_from(self, records: Store[ShardObject]) -> None:
        """Know the records."""
        self._records = records

    def may_write(self, node: Key, epoch: int) -> bool:
        """Whether a node may write in an epoch."""
        shard = Key(node.namespace, node.name.rpartition("-")[0])
        found = self._records.get(shard) if self._records is not None else None
        if found is None:
            return False
        return (found.spec.primary, found.spec.epoch, found.spec.pending) == (node.name, epoch, None)
