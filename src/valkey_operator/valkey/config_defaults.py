"""What a directive is where nobody sets it, and its other names. Data, checked against real servers of every version.

Owns: the built-in value of every directive that a running server takes, as CONFIG GET tells it, so that one that is
taken out of a spec can be set back without a restart. 8.0, 8.1 and 9.1 have the same values.
Refuses to know: which directives those are (config_keys.py).
"""

from collections.abc import Mapping

_ALIASES = """
    cluster-slave-no-failover cluster-replica-no-failover
    cluster-slave-validity-factor cluster-replica-validity-factor
    commandlog-execution-slower-than slowlog-log-slower-than
    commandlog-slow-execution-max-len slowlog-max-len
    hash-max-ziplist-entries hash-max-listpack-entries
    hash-max-ziplist-value hash-max-listpack-value
    list-max-ziplist-size list-max-listpack-size
    lua-time-limit busy-reply-threshold
    min-slaves-max-lag min-replicas-max-lag
    repl-ping-slave-period repl-ping-replica-period
    slave-ignore-maxmemory replica-ignore-maxmemory
    slave-lazy-flush replica-lazy-flush
    slave-priority replica-priority
    slave-read-only replica-read-only
    slave-serve-stale-data replica-serve-stale-data
    zset-max-ziplist-entries zset-max-listpack-entries
    zset-max-ziplist-value zset-max-listpack-value
"""
_DEFAULTS = """
    acl-pubsub-default resetchannels
    acllog-max-len 128
    active-defrag-cycle-max 25
    active-defrag-cycle-min 1
    active-defrag-cycle-us 500
    active-defrag-ignore-bytes 104857600
    active-defrag-max-scan-fields 1000
    active-defrag-threshold-lower 10
    active-defrag-threshold-upper 100
    active-expire-effort 1
    activedefrag no
    activerehashing yes
    aof-load-truncated yes
    aof-rewrite-incremental-fsync yes
    aof-timestamp-enabled no
    aof-use-rdb-preamble yes
    appendfsync everysec
    appendonly no
    auto-aof-rewrite-min-size 67108864
    auto-aof-rewrite-percentage 100
    availability-zone
    bind-source-addr
    busy-reply-threshold 5000
    client-output-buffer-limit normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60
    client-query-buffer-limit 1073741824
    cluster-allow-pubsubshard-when-down yes
    cluster-allow-reads-when-down no
    cluster-allow-replica-migration yes
    cluster-blacklist-ttl 60
    cluster-config-save-behavior sync
    cluster-link-sendbuf-limit 0
    cluster-manual-failover-timeout 5000
    cluster-migration-barrier 1
    cluster-node-timeout 15000
    cluster-ping-interval 0
    cluster-preferred-endpoint-type ip
    cluster-replica-validity-factor 10
    cluster-require-full-coverage yes
    cluster-slot-migration-log-max-len 1000
    cluster-slot-stats-enabled no
    commandlog-large-reply-max-len 128
    commandlog-large-request-max-len 128
    commandlog-reply-larger-than 1048576
    commandlog-request-larger-than 1048576
    crash-log-enabled yes
    crash-memcheck-enabled yes
    dual-channel-replication-enabled no
    extended-redis-compatibility no
    hash-max-listpack-entries 512
    hash-max-listpack-value 64
    hide-user-data-from-log yes
    hll-sparse-max-bytes 3000
    hz 10
    ignore-warnings
    import-mode no
    jemalloc-bg-thread yes
    latency-monitor-threshold 0
    latency-tracking yes
    latency-tracking-info-percentiles 50 99 99.9
    lazyfree-lazy-eviction yes
    lazyfree-lazy-expire yes
    lazyfree-lazy-server-del yes
    lazyfree-lazy-user-del yes
    lazyfree-lazy-user-flush yes
    lfu-decay-time 1
    lfu-log-factor 10
    list-compress-depth 0
    list-max-listpack-size -2
    locale-collate
    log-format legacy
    log-timestamp-format legacy
    loglevel notice
    max-new-connections-per-cycle 10
    max-new-tls-connections-per-cycle 1
    maxclients 10000
    maxmemory 0
    maxmemory-clients 0
    maxmemory-eviction-tenacity 10
    maxmemory-policy noeviction
    maxmemory-samples 5
    min-replicas-max-lag 10
    no-appendfsync-on-rewrite no
    notify-keyspace-events
    oom-score-adj no
    oom-score-adj-values 0 200 800
    prefetch-batch-max-size 16
    propagation-error-behavior ignore
    proto-max-bulk-len 536870912
    rdb-del-sync-files no
    rdb-save-incremental-fsync yes
    rdb-version-check strict
    rdbcompression yes
    rdma-port 0
    repl-backlog-size 10485760
    repl-backlog-ttl 3600
    repl-disable-tcp-nodelay no
    repl-diskless-load disabled
    repl-diskless-sync yes
    repl-diskless-sync-delay 5
    repl-diskless-sync-max-replicas 0
    repl-ping-replica-period 10
    repl-timeout 60
    replica-announced yes
    replica-ignore-disk-write-errors no
    replica-ignore-maxmemory yes
    replica-lazy-flush yes
    replica-priority 100
    replica-read-only yes
    replica-serve-stale-data yes
    save 3600 1 300 100 60 10000
    set-max-intset-entries 512
    set-max-listpack-entries 128
    set-max-listpack-value 64
    shutdown-on-sigint default
    shutdown-on-sigterm default
    shutdown-timeout 10
    slot-migration-max-failover-repl-bytes 0
    slowlog-log-slower-than 10000
    slowlog-max-len 128
    stop-writes-on-bgsave-error yes
    stream-node-max-bytes 4096
    stream-node-max-entries 100
    tcp-keepalive 300
    timeout 0
    tracking-table-max-keys 1000000
    zset-max-listpack-entries 128
    zset-max-listpack-value 64
"""


def _pairs(text: str) -> Mapping[str, str]:
    words = (line.strip().partition(" ") for line in text.strip().splitlines())
    return {name: value for name, _, value in words}


ALIASES = _pairs(_ALIASES)
"""Other names of directives, and for each the one that every version knows."""

DEFAULTS = _pairs(_DEFAULTS)
"""The built-in value of each directive that a running server takes."""


def main_name(name: str) -> str:
    """The one name of a directive, in lower case."""
    lowered = name.lower()
    return ALIASES.get(lowered, lowered)
