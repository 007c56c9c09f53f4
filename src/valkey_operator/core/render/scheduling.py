"""Where pods may run: what the user asked for, and what is sensible where nothing was asked.

Owns: affinity by host and zone, and the zones of a shard. Refuses to know: everything else about a pod.
"""

from collections.abc import Mapping
from typing import Any

from valkey_operator.core.effective import EffectiveRoundRobinZones, EffectiveShardZones, EffectiveWorkload
from valkey_operator.core.names import pods_of
from valkey_operator.core.render.objects import Manifest, without_empty

_HOST = "kubernetes.io/hostname"
_HOST_WEIGHT, _ZONE_WEIGHT = 100, 50


def zones_of_shard(zones: EffectiveRoundRobinZones, shard: int) -> EffectiveShardZones:
    """The zones of one shard of many: its first node's in turn; its replicas' are all others, which they prefer."""
    return EffectiveShardZones(
        node_label=zones.node_label,
        replica_strategy=zones.replica_strategy,
        failback=zones.failback,
        primary_zone=zones.zones[shard % len(zones.zones)] if zones.zones else None,
    )


def scheduling(spec: EffectiveWorkload, zones: EffectiveShardZones, labels: Mapping[str, str], index: int) -> Manifest:
    """The scheduling fields of the pod of one node."""
    constraints = [*(spec.topology_spread_constraints or []), *_spread(zones, labels)]
    return without_empty(
        nodeSelector=spec.node_selector,
        affinity=_affinity(spec, zones, labels, index),
        tolerations=spec.tolerations,
        topologySpreadConstraints=constraints,
        priorityClassName=spec.priority_class_name,
    )


def _affinity(
    spec: EffectiveWorkload, zones: EffectiveShardZones, labels: Mapping[str, str], index: int
) -> dict[str, Any]:
    chosen = dict(spec.affinity) if spec.affinity else {"podAntiAffinity": _apart(zones, labels)}
    zone = _zone_terms(zones, index)
    if not zone:
        return chosen
    return {**chosen, "nodeAffinity": _both(chosen.get("nodeAffinity", {}), zone)}


def _apart(zones: EffectiveShardZones, labels: Mapping[str, str]) -> dict[str, Any]:
    selector = {"matchLabels": pods_of(labels)}
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": {"labelSelector": selector, "topologyKey": key}}
            for key, weight in ((_HOST, _HOST_WEIGHT), (zones.node_label, _ZONE_WEIGHT))
        ]
    }


def _zone_terms(zones: EffectiveShardZones, index: int) -> dict[str, Any]:
    """Node 0 belongs to the primary's zone; replicas to theirs, or preferably not to that of the primary."""
    if index == 0 and zones.primary_zone:
        return _required(zones.node_label, zones.primary_zone)
    if index > 0 and zones.replica_zones:
        return _required(zones.node_label, zones.replica_zones[(index - 1) % len(zones.replica_zones)])
    # Also where they are spread: a replica that is placed before node 0 would take its zone for a free one.
    if index > 0 and zones.primary_zone:
        elsewhere = {"key": zones.node_label, "operator": "NotIn", "values": [zones.primary_zone]}
        preferred = {"weight": _HOST_WEIGHT, "preference": {"matchExpressions": [elsewhere]}}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    return {}


def _required(label: str, zone: str) -> dict[str, Any]:
    there = {"key": label, "operator": "In", "values": [zone]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [there]}]},
    }


def _both(users: dict[str, Any], zone: dict[str, Any]) -> dict[str, Any]:
    """The user's node affinity and the zone's: all of the required ones must hold, preferred ones add up."""
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    merged = {**users, **zone}
    if required in users and required in zone:
        [zone_term] = zone[required]["nodeSelectorTerms"]
        merged[required] = {
            "nodeSelectorTerms": [
                {**term, "matchExpressions": [*term.get("matchExpressions", []), *zone_term["matchExpressions"]]}
                for term in users[required]["nodeSelectorTerms"]
            ]
        }
    if preferred in users and preferred in zone:
        merged[preferred] = [*users[preferred], *zone[preferred]]
    return merged


def _spread(zones: EffectiveShardZones, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    if zones.replica_strategy != "spread":
        return []
    return [
        {
            "maxSkew": 1,
            "topologyKey": zones.node_label,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": pods_of(labels)},
        }
    ]
