"""The directives of a server's valkey.conf: the operator's defaults < modelled fields < `configFrom` < `config`.

Owns: which directive each modelled field becomes, the order of precedence, and where a directive comes from.
Refuses to know: how a directive is quoted (valkey/conf.py), and what is decided anew at each start (valkey/boot.py).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from valkey_operator.api.fields import ConfigValue
from valkey_operator.core.duration import parse_duration_ms
from valkey_operator.core.effective import (
    EffectiveCluster,
    EffectiveClusterSettings,
    EffectivePersistence,
    EffectiveReplication,
    EffectiveWorkload,
)
from valkey_operator.valkey.conf import Directive, directives_of, render_value
from valkey_operator.valkey.config_defaults import main_name
from valkey_operator.valkey.config_keys import MIN_REPLICAS_TO_WRITE, is_live
from valkey_operator.valkey.live import by_name

Directives = dict[str, list[str]]
"""Each directive, under its one name, with its occurrences."""

NODE_TIMEOUT = "cluster-node-timeout"
_PING_INTERVAL = "cluster-ping-interval"
REPLICA_MIGRATION = "cluster-allow-replica-migration"
_MIGRATION_BARRIER = "cluster-migration-barrier"
ZONE = "availability-zone"
_PINGS_PER_TIMEOUT = 10

ConfigMaps = Mapping[str, Mapping[str, str]]

_FIELDS = {
    "save": "persistence.rdb.savePolicy",
    "rdbcompression": "persistence.rdb.compression",
    "appendonly": "persistence.aof.enabled",
    "appendfsync": "persistence.aof.fsync",
    "auto-aof-rewrite-percentage": "persistence.aof.rewritePercentage",
    "auto-aof-rewrite-min-size": "persistence.aof.rewriteMinSize",
    "repl-diskless-sync": "replication.disklessSync",
    MIN_REPLICAS_TO_WRITE: "replication.minReplicasToWrite",
    "min-replicas-max-lag": "replication.minReplicasMaxLag",
    "repl-backlog-size": "replication.backlogSize",
    NODE_TIMEOUT: "cluster.nodeTimeout",
    _PING_INTERVAL: "cluster.nodeTimeout",
    "replica-read-only": "cluster.replicaReadOnly",
    "cluster-allow-reads-when-down": "cluster.allowReadsWhenDown",
    REPLICA_MIGRATION: "cluster.migrationBarrier",
    _MIGRATION_BARRIER: "cluster.migrationBarrier",
}


class Origin(NamedTuple):
    """Where a directive was given, and its value there; None: nowhere."""

    field: str
    value: ConfigValue | None


def directives_for(spec: EffectiveWorkload, maps: ConfigMaps) -> Directives:
    """Everything a user decided, complete; `maps` are the ConfigMaps that `configFrom` names."""
    merged: Directives = {}
    for _, layer in _layers(spec, maps):
        merged |= by_name(directives_of(layer))
    return merged


def origin_of(name: str, spec: EffectiveWorkload, maps: ConfigMaps) -> Origin:
    """The strongest place that says something about a directive."""
    for place, layer in reversed(list(_layers(spec, maps))):
        for key, value in layer.items():
            if main_name(key) == main_name(name):
                return Origin(f"{place}.{key}" if place else f"spec.{_FIELDS.get(key, f'config.{key}')}", value)
    return Origin(f"spec.config.{name}", None)


def with_live_of(former: Mapping[str, list[str]], wanted: Mapping[str, list[str]]) -> Directives:
    """What is wanted, with the former live settings: no server has taken the new ones yet."""
    kept = {name: values for name, values in former.items() if is_live(name)}
    return {name: values for name, values in wanted.items() if not is_live(name)} | kept


def in_zone(directives: Mapping[str, list[str]], zone: str | None) -> Directives:
    """With the zone that a node of a cluster runs in, by which clients read nearby; a user's own word stays."""
    return {**({ZONE: [zone]} if zone else {}), **directives}


def listed(directives: Mapping[str, list[str]]) -> list[Directive]:
    """As lines of a configuration file."""
    return [Directive(name, (value,)) for name, values in directives.items() for value in values]


def _layers(spec: EffectiveWorkload, maps: ConfigMaps) -> Iterator[tuple[str, Mapping[str, ConfigValue]]]:
    """Each place with its directives, weakest first; what fields give has no place of its own."""
    yield "", _persistence(spec.persistence)
    yield "", _replication(spec.replication)
    if isinstance(spec, EffectiveCluster):
        yield "", _cluster(spec.cluster)
    for reference in spec.config_from or []:
        yield f"spec.configFrom[{reference.name}]", dict(maps.get(reference.name, {}))
    yield "spec.config", spec.config or {}


def _persistence(persistence: EffectivePersistence) -> dict[str, ConfigValue]:
    rdb, aof = persistence.rdb, persistence.aof
    points = [f"{point.seconds} {point.changes}" for point in rdb.save_policy] if rdb.enabled else []
    return {
        "save": " ".join(points),
        "rdbcompression": rdb.compression,
        "appendonly": aof.enabled,
        "appendfsync": aof.fsync,
        "auto-aof-rewrite-percentage": aof.rewrite_percentage,
        "auto-aof-rewrite-min-size": render_value(aof.rewrite_min_size),
        # Else a replica with a full disk ends itself at the next write, and its copy in memory is lost with it.
        "replica-ignore-disk-write-errors": True,
    }


def _replication(replication: EffectiveReplication) -> dict[str, ConfigValue]:
    backlog = replication.backlog_size
    return {
        "repl-diskless-sync": replication.diskless_sync,
        # A replica that waits for others to come is a replica that is not there.
        "repl-diskless-sync-delay": 0,
        MIN_REPLICAS_TO_WRITE: replication.min_replicas_to_write,
        "min-replicas-max-lag": replication.min_replicas_max_lag,
        **({} if backlog is None else {"repl-backlog-size": render_value(backlog)}),
    }


def _cluster(settings: EffectiveClusterSettings) -> dict[str, ConfigValue]:
    barrier, node_timeout_ms = settings.migration_barrier, parse_duration_ms(settings.node_timeout)
    return {
        NODE_TIMEOUT: node_timeout_ms,
        # The timeout runs from a ping without an answer: by themselves servers may send it half a timeout later.
        _PING_INTERVAL: node_timeout_ms // _PINGS_PER_TIMEOUT,
        "replica-read-only": settings.replica_read_only,
        "cluster-allow-reads-when-down": settings.allow_reads_when_down,
        # A replica that moves by itself, and an operator that places it, would undo each other's work.
        REPLICA_MIGRATION: barrier is not None,
        **({} if barrier is None else {_MIGRATION_BARRIER: barrier}),
    }
