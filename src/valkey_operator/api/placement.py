"""Availability zones, disruptions and replacements of pods."""

from typing import Annotated, Literal

from valkey_operator.api.fields import CRON, LABEL_LENGTH, Model, doc, set_list

Zone = Annotated[str, doc("A zone: a value of the node label.", minLength=1, maxLength=LABEL_LENGTH)]


class ZoneRules(Model, frozen=True, kw_only=True):
    """What all sorts of zone distribution have in common."""

    node_label: Annotated[
        str | None,
        doc(
            "Label of Kubernetes nodes that names their zone. Built in: topology.kubernetes.io/zone.",
            minLength=1,
            maxLength=317,
        ),
    ] = None
    replica_strategy: Annotated[
        Literal["anti-affinity", "spread"] | None,
        doc(
            "Where replicas go: anti-affinity = preferably to other zones than the primary's, spread = evenly over all "
            "zones. Built in: anti-affinity."
        ),
    ] = None
    failback: Annotated[
        Literal["Automatic", "Never"] | None,
        doc(
            "Whether the primary moves back to its zone, by a planned switchover, once a node there is healthy again. "
            "Built in: Automatic."
        ),
    ] = None


class ShardZones(ZoneRules, frozen=True, kw_only=True):
    """The zones of one shard."""

    primary_zone: Annotated[Zone | None, doc("Zone of the primary.", minLength=1, maxLength=LABEL_LENGTH)] = None
    replica_zones: Annotated[
        list[Zone] | None, set_list("Zones for the replicas. Built in: all others.", at_most=32)
    ] = None


class RoundRobinZones(ZoneRules, frozen=True, kw_only=True):
    """Zones over which the primaries of many shards are dealt out in turn."""

    zones: Annotated[
        list[Zone] | None,
        set_list("Zones, dealt out in turn: shard n has its primary in zone n modulo their number.", at_most=32),
    ] = None


class Disruption(Model, frozen=True, kw_only=True):
    """Protection against evictions."""

    mode: Annotated[
        Literal["Budget", "Guarded", "None"] | None,
        doc(
            "Budget = one pod of a shard may be evicted at a time, and a primary hands over first; Guarded = no "
            "eviction "
            "at all but the one the operator has prepared; None = no protection. Built in: Budget."
        ),
    ] = None


class UpdateStrategy(Model, frozen=True, kw_only=True):
    """When pods are replaced for a change."""

    type: Annotated[
        Literal["Automatic", "OnApproval"] | None,
        doc(
            "Automatic = as soon as a change needs it; OnApproval = only after the annotation "
            "valkey.io/approved-generation names the generation. Built in: Automatic."
        ),
    ] = None
    window: Annotated[
        str | None,
        doc(
            "When replacing pods may begin: a cron expression in UTC, such as '0 4 * * 6,0'. Built in: none, so "
            "at any time.",
            pattern=CRON,
            maxLength=128,
        ),
    ] = None
