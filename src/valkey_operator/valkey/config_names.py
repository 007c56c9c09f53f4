"""The names of Valkey's directives, by the version that brought them. Data, checked against real servers.

A directive that a later version dropped stays here: the server still takes it, and says that it does nothing.
"""

from valkey_operator.valkey.info import Version

Release = tuple[int, int]

NEWEST_RELEASE: Release = (9, 1)

_IN_8_0 = """
    acl-pubsub-default aclfile acllog-max-len active-defrag-cycle-max active-defrag-cycle-min
    active-defrag-ignore-bytes active-defrag-max-scan-fields active-defrag-threshold-lower
    active-defrag-threshold-upper active-expire-effort activedefrag activerehashing always-show-logo
    aof-load-truncated aof-rewrite-cpulist aof-rewrite-incremental-fsync aof-timestamp-enabled aof-use-rdb-preamble
    aof_rewrite_cpulist appenddirname appendfilename appendfsync appendonly auto-aof-rewrite-min-size
    auto-aof-rewrite-percentage availability-zone bgsave-cpulist bgsave_cpulist bind bind-source-addr bio-cpulist
    bio_cpulist busy-reply-threshold client-output-buffer-limit client-query-buffer-limit
    cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down cluster-allow-replica-migration
    cluster-announce-bus-port cluster-announce-client-ipv4 cluster-announce-client-ipv6 cluster-announce-hostname
    cluster-announce-human-nodename cluster-announce-ip cluster-announce-port cluster-announce-tls-port
    cluster-blacklist-ttl cluster-config-file cluster-enabled cluster-link-sendbuf-limit cluster-migration-barrier
    cluster-node-timeout cluster-port cluster-preferred-endpoint-type cluster-replica-no-failover
    cluster-replica-validity-factor cluster-require-full-coverage cluster-slave-no-failover
    cluster-slave-validity-factor cluster-slot-stats-enabled crash-log-enabled crash-memcheck-enabled daemonize
    databases dbfilename dir disable-thp dual-channel-replication-enabled dynamic-hz enable-debug-command
    enable-module-command enable-protected-configs events-per-io-thread extended-redis-compatibility
    hash-max-listpack-entries hash-max-listpack-value hash-max-ziplist-entries hash-max-ziplist-value
    hide-user-data-from-log hll-sparse-max-bytes hz ignore-warnings io-threads io-threads-do-reads
    jemalloc-bg-thread latency-monitor-threshold latency-tracking latency-tracking-info-percentiles
    lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del
    lazyfree-lazy-user-flush lfu-decay-time lfu-log-factor list-compress-depth list-max-listpack-size
    list-max-ziplist-size locale-collate logfile loglevel lua-time-limit masterauth masteruser
    max-new-connections-per-cycle max-new-tls-connections-per-cycle maxclients maxmemory maxmemory-clients
    maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples min-replicas-max-lag min-replicas-to-write
    min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite notify-keyspace-events oom-score-adj
    oom-score-adj-values pidfile port prefetch-batch-max-size primaryauth primaryuser proc-title-template
    propagation-error-behavior protected-mode proto-max-bulk-len rdb-del-sync-files rdb-save-incremental-fsync
    rdbchecksum rdbcompression repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay repl-diskless-load
    repl-diskless-sync repl-diskless-sync-delay repl-diskless-sync-max-replicas repl-ping-replica-period
    repl-ping-slave-period repl-timeout replica-announce-ip replica-announce-port replica-announced
    replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush replica-priority replica-read-only
    replica-serve-stale-data replicaof requirepass sanitize-dump-payload save server-cpulist server_cpulist
    set-max-intset-entries set-max-listpack-entries set-max-listpack-value set-proc-title shutdown-on-sigint
    shutdown-on-sigterm shutdown-timeout slave-announce-ip slave-announce-port slave-ignore-maxmemory
    slave-lazy-flush slave-priority slave-read-only slave-serve-stale-data slaveof slowlog-log-slower-than
    slowlog-max-len socket-mark-id stop-writes-on-bgsave-error stream-node-max-bytes stream-node-max-entries
    supervised syslog-enabled syslog-facility syslog-ident tcp-backlog tcp-keepalive timeout tls-auth-clients
    tls-ca-cert-dir tls-ca-cert-file tls-cert-file tls-ciphers tls-ciphersuites tls-client-cert-file
    tls-client-key-file tls-client-key-file-pass tls-cluster tls-dh-params-file tls-key-file tls-key-file-pass
    tls-port tls-prefer-server-ciphers tls-protocols tls-replication tls-session-cache-size
    tls-session-cache-timeout tls-session-caching tracking-table-max-keys unixsocket unixsocketgroup unixsocketperm
    zset-max-listpack-entries zset-max-listpack-value zset-max-ziplist-entries zset-max-ziplist-value
    """
_ADDED_IN_8_1 = """
    active-defrag-cycle-us cluster-manual-failover-timeout commandlog-execution-slower-than
    commandlog-large-reply-max-len commandlog-large-request-max-len commandlog-reply-larger-than
    commandlog-request-larger-than commandlog-slow-execution-max-len import-mode log-format log-timestamp-format
    rdb-version-check rdma-bind rdma-completion-vector rdma-port rdma-rx-size
    """
_ADDED_IN_9_1 = """
    cluster-announce-client-port cluster-announce-client-tls-port cluster-config-save-behavior cluster-databases
    cluster-slot-migration-log-max-len hash-seed mptcp repl-mptcp slot-migration-max-failover-repl-bytes
    tls-auth-clients-user tls-auto-reload-interval
    """
# They exist, yet no list of CONFIG GET shows them.
_NOT_SHOWN = "cluster-ping-interval include loadmodule rename-command user"

NAMES_SINCE: dict[Release, frozenset[str]] = {
    (8, 0): frozenset(_IN_8_0.split()) | frozenset(_NOT_SHOWN.split()),
    (8, 1): frozenset(_ADDED_IN_8_1.split()),
    NEWEST_RELEASE: frozenset(_ADDED_IN_9_1.split()),
}


def may_exist(name: str, version: Version | None) -> bool:
    """Whether a server of this version may know the directive; modules bring their own, with a dot in the name."""
    release = NEWEST_RELEASE if version is None else version[:2]
    if "." in name or release > NEWEST_RELEASE:
        return True
    return any(name.lower() in names for since, names in NAMES_SINCE.items() if since <= release)
