"""How a server that waits at the gate starts, where the shard's record alone decides. Pure.

Owns: the decision. Refuses to know: how the record is read, and how the gate is opened (starter.py).

| the record                                                  | the server                         |
| ----------------------------------------------------------- | ---------------------------------- |
| is of an older epoch than was promised                      | waits: the record will change      |
| has a change of primary pending                             | waits: the operator is choosing    |
| names no primary                                            | waits: the operator must choose    |
| names this node, and replicas that could be promoted        | waits: their copy may be the newer |
| names this node, and a switchover away from it is under way | waits: the target may have it all  |
| names this node alone, which was told of others             | waits: that may be the newer       |
| names this node, and nobody could be promoted               | is a writable primary              |
| names another node                                          | is its replica                     |

Whoever waits is opened by an order of the operator. A replica waits too while a change is pending: attached to the old
primary it would count as one of those that let it write.
"""

import msgspec

from valkey_operator.agent.promise import Promise
from valkey_operator.agent.record import RecordedOperation, ShardRecord
from valkey_operator.valkey.boot import StartKind

# The operations that end with another primary; what else may be under way does not concern a start.
_CHANGES = {"Switchover", "Failover"}


class Decision(msgspec.Struct, frozen=True):
    """As what the server starts; kind None: it waits. `primary` is the node that a replica follows."""

    kind: StartKind | None
    reason: str
    primary: str | None = None


def decide_start(record: ShardRecord, *, node: str, promise: Promise) -> Decision:
    """What the record says about the start of `node`, which has promised this."""
    if record.epoch < promise.epoch:
        return Decision(None, f"the record is of epoch {record.epoch}, and epoch {promise.epoch} was promised")
    if record.pending is not None:
        return Decision(None, f"a change of primary to epoch {record.pending.epoch} is pending")
    if not record.primary:
        return Decision(None, "the record names no primary")
    if record.primary != node:
        return Decision(StartKind.REPLICA, f"the primary is {record.primary}", record.primary)
    return _decide_as_primary(record, node, promise)


def _decide_as_primary(record: ShardRecord, node: str, promise: Promise) -> Decision:
    if record.promotable:
        return Decision(None, f"{', '.join(record.promotable)} may have a newer copy")
    if _leads_away(record.operation, node):
        return Decision(None, "a switchover away from this node is under way")
    if promise.terms is not None and any(promise.terms.sets) and promise.epoch == record.epoch:
        return Decision(None, "this node was told who could take over, which may be newer than the record")
    return Decision(StartKind.WRITABLE_PRIMARY, "the record names this node, and nobody could take its place")


def _leads_away(operation: RecordedOperation | None, node: str) -> bool:
    return operation is not None and operation.type in _CHANGES and operation.source == node
