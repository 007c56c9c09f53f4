"""The directives of a server's valkey.conf: the operator's defaults < modelled fields < `configFrom` < `config`.

Owns: which directive each modelled field becomes, and the order of precedence.
Refuses to know: how a directive is quoted (valkey/conf.py), and what is decided anew at each start (valkey/boot.py).
"""

from collections.abc import Mapping

from valkey_operator.api.fields import ConfigValue
from valkey_operator.core.effective import EffectivePersistence, EffectiveReplication, EffectiveWorkload
from valkey_operator.valkey.conf import Directive, directives_of, render_value
from valkey_operator.valkey.config_keys import MIN_REPLICAS_TO_WRITE
from valkey_operator.valkey.live import by_name

Directives = dict[str, list[str]]
"""Each directive, under its one name, with its occurrences."""

ConfigMaps = Mapping[str, Mapping[str, str]]


def directives_for(spec: EffectiveWorkload, maps: ConfigMaps) -> Directives:
    """Everything a user decided, complete; `maps` are the ConfigMaps that `configFrom` names."""
    layers: list[Mapping[str, ConfigValue]] = [
        _persistence(spec.persistence),
        _replication(spec.replication),
        *(dict(maps.get(reference.name, {})) for reference in spec.config_from or []),
        spec.config or {},
    ]
    merged: Directives = {}
    for layer in layers:
        merged |= by_name(directives_of(layer))
    return merged


def listed(directives: Mapping[str, list[str]]) -> list[Directive]:
    """As lines of a configuration file."""
    return [Directive(name, (value,)) for name, values in directives.items() for value in values]


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
