"""ValkeyShard: who may take writes in one shard. Made by the operator, changed by compare-and-swap only.

The record is in `spec`, not in `status`: it cannot be observed anew once it is lost. Its epoch only ever grows, and a
primary changes only together with it; the API server holds both, whatever an operator from the past still sends.
"""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import DNS_LABEL, Model, Rule, doc, map_list, set_list
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.rules import (
    LONGEST_NODE_NAME,
    LONGEST_SERVICE_NAME,
    MOST_REPLICAS,
    MOST_SHARDS,
    fitting_name,
    quoted,
    value_of,
)
from valkey_operator.api.status import Operation, Status

LONGEST_ERROR = 1024
MOST_WITNESSES = 7

_PRIMARY = value_of("self", "primary", quoted(""))
_FORMER_PRIMARY = value_of("oldSelf", "primary", quoted(""))

NodeName = Annotated[str, doc("Name of a node.", minLength=1, maxLength=LONGEST_NODE_NAME, pattern=DNS_LABEL)]


def _fixed(field: str) -> Rule:
    return Rule(
        rule=f"self.{field} == oldSelf.{field}",
        message=f"{field} cannot change: a record belongs to one shard for ever; make another record",
        field=f".{field}",
    )


class ShardOwner(Model, frozen=True, kw_only=True):
    """Whose shard it is."""

    kind: Annotated[Literal["Valkey", "ValkeyCluster"], doc("Kind of the object that the shard belongs to.")]
    name: Annotated[str, doc("Its name.", minLength=1, maxLength=LONGEST_SERVICE_NAME)]


class PendingChange(Model, frozen=True, kw_only=True):
    """A change of primary that was announced, so that nobody grants the old epoch any more."""

    epoch: Annotated[int, doc("The epoch it will begin, above the present one.", minimum=1)]
    reason: Annotated[str | None, doc("Why.", maxLength=1024)] = None
    since: Annotated[str | None, doc("When it was announced.", format="date-time")] = None
    without: Annotated[
        NodeName | None,
        doc(
            "Who is not chosen again, though it may have most: its replicas do not reach it.",
            maxLength=LONGEST_NODE_NAME,
        ),
    ] = None


class ShardOperation(Operation, frozen=True, kw_only=True):
    """An operation under way, to be taken up by the next leader."""

    source: Annotated[NodeName | None, doc("The primary at its beginning.", maxLength=LONGEST_NODE_NAME)] = None
    epoch: Annotated[int | None, doc("The epoch in which it began.", minimum=0)] = None


class ClusterSleep(Model, frozen=True, kw_only=True):
    """A cluster that was suspended."""

    shards: Annotated[int, doc("How many shards it had, all of which are needed to wake up.", minimum=0)]
    replicas: Annotated[int, doc("How many nodes the largest of them had.", minimum=0)]
    asked: Annotated[int, doc("How many shards the spec asked for.", minimum=0)]


class ClusterFailover(Model, frozen=True, kw_only=True):
    """A change of primary that was ordered."""

    shard: Annotated[int, doc("Number of the shard.", minimum=0, maximum=MOST_SHARDS)]
    kind: Annotated[Literal["planned", "force", "takeover"], doc("By whose consent.")]
    source: Annotated[str, doc("Id of the server that was primary.", maxLength=64)]
    target: Annotated[NodeName, doc("The node that takes over.", maxLength=LONGEST_NODE_NAME)]
    at: Annotated[str, doc("When it was ordered.", format="date-time")]
    why: Annotated[str | None, doc("For what, if it was planned.", maxLength=64)] = None
    tries: Annotated[int | None, doc("How often in a row it was ordered for that. None: once.", minimum=1)] = None


class ClusterMoveFailure(Model, frozen=True, kw_only=True):
    """Slots that could not be moved between two shards."""

    source: Annotated[int, doc("Number of the shard that gives.", minimum=0, maximum=MOST_SHARDS)]
    target: Annotated[int, doc("Number of the shard that takes.", minimum=0, maximum=MOST_SHARDS)]
    count: Annotated[int, doc("One more with each that failed, one less with each that went well.", minimum=1)]
    error: Annotated[str, doc("What the server said; empty: the last one went well.", maxLength=LONGEST_ERROR)]
    at: Annotated[str, doc("When the last one failed.", format="date-time")]


class ClusterLeave(Model, frozen=True, kw_only=True):
    """Leave to write in a cluster, in the epoch of its record."""

    witnesses: Annotated[
        list[NodeName], set_list("Nodes of which more than half must give a node leave.", at_most=MOST_WITNESSES)
    ]
    former: Annotated[
        list[NodeName] | None,
        set_list("Former witnesses, by whose leave some may write who were not told of these.", at_most=MOST_WITNESSES),
    ] = None
    without: Annotated[
        list[NodeName] | None,
        set_list("Nodes that were lost when this epoch was announced, and get no leave in it.", at_most=MOST_SHARDS),
    ] = None
    kept: Annotated[bool | None, doc("Whether every node needed leave once: none writes without it.")] = None


class ClusterMemory(Model, frozen=True, kw_only=True):
    """What no server of a cluster remembers."""

    formed: Annotated[bool | None, doc("Whether all slots had an owner once: none is simply given out again.")] = None
    asleep: Annotated[ClusterSleep | None, doc("How the cluster was when it was suspended.")] = None
    attempts: Annotated[
        list[ClusterFailover] | None,
        map_list("Changes of primary that were just ordered.", "shard", at_most=MOST_SHARDS),
    ] = None
    failures: Annotated[
        list[ClusterMoveFailure] | None,
        map_list("Moves of slots that failed.", "source", "target", at_most=MOST_SHARDS),
    ] = None
    leave: Annotated[ClusterLeave | None, doc("Who gives nodes leave to write, and who gets none.")] = None


class ValkeyShardSpec(Model, frozen=True, kw_only=True):
    """The record."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        _fixed("owner"),
        _fixed("index"),
        Rule(
            rule="self.epoch >= oldSelf.epoch",
            message="epoch is %s, less than the %s on record: it only grows; read the record again and decide anew",
            values=("self.epoch", "oldSelf.epoch"),
            field=".epoch",
        ),
        Rule(
            rule=f"{_PRIMARY} == {_FORMER_PRIMARY} || self.epoch > oldSelf.epoch",
            message=(
                'primary changes from "%s" to "%s" within epoch %s: '
                "a change of primary needs epoch %s or higher; read the record again and decide anew"
            ),
            values=(_FORMER_PRIMARY, _PRIMARY, "self.epoch", "oldSelf.epoch + 1"),
            field=".primary",
        ),
        Rule(
            rule="!has(self.pending) || self.pending.epoch > self.epoch",
            message="pending.epoch is %s, not above epoch %s: announce a higher one, or remove pending",
            values=("self.pending.epoch", "self.epoch"),
            field=".pending",
        ),
    )

    owner: Annotated[ShardOwner, doc("Whose shard it is. Cannot change.")]
    index: Annotated[
        int, doc("Number of the shard, from 0; 0 for a Valkey. Cannot change.", minimum=0, maximum=MOST_SHARDS)
    ]
    authority: Annotated[
        Literal["Operator", "Sentinel", "Cluster"] | None, doc("Who decides which node is primary. Built in: Operator.")
    ] = None
    epoch: Annotated[
        int,
        doc("Counts the changes of the primary; in a cluster those of leave to write. Only grows.", minimum=0),
    ]
    primary: Annotated[NodeName | None, doc("The node that may take writes.", maxLength=LONGEST_NODE_NAME)] = None
    primary_pod: Annotated[
        str | None, doc("Uid of its pod: a later pod of the same node proves nothing about that one.", maxLength=64)
    ] = None
    promotable: Annotated[
        list[NodeName] | None,
        set_list("Replicas that were in sync in this epoch and have not restarted since.", at_most=MOST_REPLICAS),
    ] = None
    replication_id: Annotated[
        str | None, doc("Replication id of this epoch.", pattern="^[0-9a-f]{40}$", maxLength=40)
    ] = None
    first_offset: Annotated[int | None, doc("Replication offset at which this epoch began.", minimum=0)] = None
    wish_met: Annotated[
        NodeName | None,
        doc("The wish for a primary that was met last; it is not met twice.", maxLength=LONGEST_NODE_NAME),
    ] = None
    pending: Annotated[PendingChange | None, doc("A change of primary that was announced.")] = None
    operation: Annotated[ShardOperation | None, doc("An operation that is under way.")] = None
    cluster: Annotated[
        ClusterMemory | None,
        doc("What no server remembers, in the record of a whole ValkeyCluster, whose servers elect their primaries."),
    ] = None


class ValkeyShard(Model, frozen=True, kw_only=True):
    """Who may take writes in one shard. The operator makes and changes these; do not edit them."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_NODE_NAME),)

    api_version: str = API_VERSION
    kind: Literal["ValkeyShard"] = "ValkeyShard"
    metadata: ObjectMeta
    spec: Annotated[ValkeyShardSpec, doc("The record.")]
    status: Annotated[Status | None, doc("What was observed.")] = None
