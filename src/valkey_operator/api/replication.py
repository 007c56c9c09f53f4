"""How replicas follow their primary, what a confirmed write is worth, and when a replica takes over."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import MEMORY_SIZE, IntOrString, Model, Rule, doc
from valkey_operator.api.rules import value_of

Durability = Literal["Cache", "Available", "Quorum"]

_DETECT = value_of("self", "detectAfterMilliseconds", "3000")
_FENCE = value_of("self", "fenceAfterMilliseconds", "2000")
LEAST_GAP_MILLISECONDS = 1000


class Replication(Model, frozen=True, kw_only=True):
    """Replication within a shard."""

    diskless_sync: Annotated[
        bool | None, doc("Send a full copy to a replica straight from memory, without delay. Built in: true.")
    ] = None
    min_replicas_to_write: Annotated[
        int | None,
        doc(
            "Refuse writes unless this many replicas follow closely enough. Built in: 0, and 1 with durability Quorum.",
            minimum=0,
            maximum=99,
        ),
    ] = None
    min_replicas_max_lag: Annotated[
        int | None,
        doc(
            "A replica follows closely enough if it was heard of this many seconds ago. "
            "Built in: 10, and 2 with durability Quorum.",
            minimum=1,
            maximum=3600,
        ),
    ] = None
    backlog_size: Annotated[
        IntOrString | None,
        doc(
            "How much of the replication stream is kept for replicas that come back. Built in: none, so the "
            "server's own, "
            "10mb.",
            pattern=MEMORY_SIZE,
            maxLength=32,
        ),
    ] = None


class Failover(Model, frozen=True, kw_only=True):
    """Failover by the operator; Sentinel and clusters have their own."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=f"{_DETECT} - {_FENCE} >= {LEAST_GAP_MILLISECONDS}",
            message=(
                "detectAfterMilliseconds is %s and fenceAfterMilliseconds is %s: a lost primary must have "
                "stopped taking "
                "writes well before another takes over; set detectAfterMilliseconds to at least %s"
            ),
            values=(_DETECT, _FENCE, f"{_FENCE} + {LEAST_GAP_MILLISECONDS}"),
        ),
    )

    enabled: Annotated[bool | None, doc("Let a replica take over when the primary is lost. Built in: true.")] = None
    detect_after_milliseconds: Annotated[
        int | None,
        doc("A primary that was silent for so long is taken for lost. Built in: 3000.", minimum=1500, maximum=600000),
    ] = None
    fence_after_milliseconds: Annotated[
        int | None,
        doc(
            "A primary that has lost touch with its shard for so long stops taking writes; at least 1000 less than "
            "detectAfterMilliseconds. Built in: 2000.",
            minimum=500,
            maximum=600000,
        ),
    ] = None
