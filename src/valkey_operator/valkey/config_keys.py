"""Which directives a spec's `config` may set, and which of them a running server takes. Data and lookups only.

The tables are what real servers of each version answer to CONFIG SET; tests/valkey asks them again.
"""

import enum
from collections.abc import Mapping

from valkey_operator.valkey.config_names import NAMES_SINCE
from valkey_operator.valkey.info import Version

MIN_REPLICAS_TO_WRITE = "min-replicas-to-write"
_NEVER = Version(1 << 31, 0, 0)

_NO_FIELD = "nothing: the operator sets it, and there is no field for it"
_AUTH = "auth.password"
_REPLICATION = "replicas: the operator decides who follows whom"
_ANNOUNCE = "nothing: a node announces the address of its own Service"
_ELECTION = "nothing: the operator sets it while a node has no leave to be elected"
_COMMANDS = "auth.acl.users[].permissions"
_WRITES = "replication.minReplicasToWrite"

OWNED: Mapping[str, str] = {
    "bind": "service, or a NetworkPolicy",
    "port": "tls.port for encrypted connections; the plain port is always 6379",
    "tls-*": "tls",
    "unixsocket*": _NO_FIELD,
    "dir": "persistence",
    "dbfilename": "persistence.rdb",
    "appenddirname": "persistence.aof",
    "appendfilename": "persistence.aof",
    "logfile": "nothing: the log is what `kubectl logs` shows",
    "pidfile": _NO_FIELD,
    "daemonize": _NO_FIELD,
    "supervised": _NO_FIELD,
    "replicaof": _REPLICATION,
    "slaveof": _REPLICATION,
    "primaryauth": _AUTH,
    "masterauth": _AUTH,
    "primaryuser": _AUTH,
    "masteruser": _AUTH,
    "requirepass": _AUTH,
    "aclfile": "auth.acl",
    "user": "auth.acl.users",
    "include": "configFrom",
    "loadmodule": "modules",
    "rename-command": _COMMANDS,
    "cluster-enabled": "kind ValkeyCluster",
    "cluster-config-file": _NO_FIELD,
    "cluster-announce-*": _ANNOUNCE,
    "cluster-replica-no-failover": _ELECTION,
    "cluster-slave-no-failover": _ELECTION,
    "replica-announce-*": _ANNOUNCE,
    "slave-announce-*": _ANNOUNCE,
    "enable-*-command": _COMMANDS,
    MIN_REPLICAS_TO_WRITE: _WRITES,
    "min-slaves-to-write": _WRITES,
    "protected-mode": "auth, or a NetworkPolicy",
    "proc-title-template": _NO_FIELD,
    "sentinel": "defaultConfig of the Sentinel, or sentinel.config of the Valkey",
}
"""A directive, or a pattern with one `*`, that `config` may not hold, and what to use instead."""

_NEEDS_RESTART = """
    aclfile always-show-logo aof-rewrite-cpulist aof_rewrite_cpulist appenddirname appendfilename bgsave-cpulist
    bgsave_cpulist bio-cpulist bio_cpulist cluster-config-file cluster-databases cluster-enabled cluster-port daemonize
    databases dbfilename dir disable-thp enable-debug-command enable-module-command enable-protected-configs hash-seed
    io-threads io-threads-do-reads logfile mptcp pidfile rdbchecksum rdma-bind rdma-completion-vector rdma-rx-size
    repl-mptcp replicaof server-cpulist server_cpulist set-proc-title slaveof socket-mark-id supervised syslog-enabled
    syslog-facility syslog-ident tcp-backlog unixsocket unixsocketgroup unixsocketperm
"""
NEEDS_RESTART = frozenset(_NEEDS_RESTART.split())
"""Directives that a running server refuses to change."""

LIVE_SINCE: Mapping[str, Version] = {"io-threads": Version(9, 1, 0)}
"""Directives of `NEEDS_RESTART` that servers from this version on take while they run."""

ONLY_IN_FILES: Mapping[str, Version] = {
    "dynamic-hz": Version(8, 1, 0),
    "events-per-io-thread": Version(9, 1, 0),
    "sanitize-dump-payload": Version(9, 1, 0),
}
"""Directives that servers from this version on read in a file, without effect, and do not know while they run."""


class Change(enum.StrEnum):
    """How a change of a directive gets to a server."""

    LIVE = "live"
    RESTART = "restart"
    OWNED = "owned"


def how_it_changes(key: str) -> Change:
    """How a user's change of a directive gets to servers of all versions; what is not known takes a restart."""
    lowered = key.lower()
    if replacement_for(lowered) is not None:
        return Change.OWNED
    return Change.LIVE if _is_taken_by_all(lowered) else Change.RESTART


def is_live(key: str) -> bool:
    """Whether running servers of all versions take this directive from whoever wants to change it."""
    return how_it_changes(key) is Change.LIVE


def _is_taken_by_all(key: str) -> bool:
    # The strictest server counts: which one runs is known only once it does.
    known = any(key in names for names in NAMES_SINCE.values())
    return known and not any(needs_restart(key, Version(*release, 0)) for release in NAMES_SINCE)


def replacement_for(key: str) -> str | None:
    """What to use instead of an owned directive, or None if `config` may hold it."""
    lowered = key.lower()
    return next((instead for pattern, instead in OWNED.items() if matches(pattern, lowered)), None)


def matches(pattern: str, key: str) -> bool:
    """Whether a directive is the one that a pattern with at most one `*` names."""
    start, star, end = pattern.partition("*")
    if not star:
        return key == pattern
    return key.startswith(start) and key.endswith(end) and len(key) >= len(start) + len(end)


def needs_restart(key: str, version: Version) -> bool:
    """Whether a change of this directive takes a new process."""
    lowered = key.lower()
    if lowered in LIVE_SINCE:
        return version < LIVE_SINCE[lowered]
    return lowered in NEEDS_RESTART or version >= ONLY_IN_FILES.get(lowered, _NEVER)
