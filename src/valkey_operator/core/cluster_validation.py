"""What is wrong with the effective spec of a ValkeyCluster: what is so for all servers, and what only a cluster minds.

Owns: the checks that only a cluster needs; those of all kinds are in validation.py. Refuses to know: what the servers
say, and whether the data of shards that shall go fit into the others (core/cluster/scale.py).
"""

from collections.abc import Iterator, Mapping

from valkey_operator.api.rules import LONGEST_SHARDED_NAME
from valkey_operator.core.cluster.facts import Sleep
from valkey_operator.core.cluster.failover import HANDOVER_S
from valkey_operator.core.cluster.leave import FENCED_BEFORE_MS, SHORTEST_FENCE_AFTER_MS
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.quantity import parse_quantity
from valkey_operator.core.render.directives import NODE_TIMEOUT, REPLICA_MIGRATION, Origin, directives_for, origin_of
from valkey_operator.core.validation import ConfigMaps, Problem, check_name, check_workload, shown, warnings_of
from valkey_operator.valkey.info import Version
from valkey_operator.valkey.live import parse_memory

MOST_LOGGED = 32
"""So many migrations that have ended are told by an agent, which has its own word for it."""
LEAST_NODE_TIMEOUT_MS = SHORTEST_FENCE_AFTER_MS + FENCED_BEFORE_MS
"""Below it leave to write would end before it can be asked for again; a busy server must not be taken for failed."""


VALIDITY_FACTOR = "cluster-replica-validity-factor"
SAVE_BEHAVIOR = "cluster-config-save-behavior"

_FOREVER = 1 << 31
_BOUNDS: Mapping[str, tuple[int, int, str]] = {
    "cluster-manual-failover-timeout": (
        1000,
        int(HANDOVER_S * 1000),
        "a server goes on with a handover so long, and after 5000 ms another replica is told to; give 1000 to 5000",
    ),
    "cluster-blacklist-ttl": (
        10,
        _FOREVER,
        "nodes that are gone would be learned of again before all have forgotten them; give at least 10 s",
    ),
    "cluster-slot-migration-log-max-len": (
        MOST_LOGGED,
        _FOREVER,
        f"moves of slots that failed are counted in this log; give at least {MOST_LOGGED}",
    ),
}
"""Directives that the operator relies on: the least and the greatest value, and why."""


def check_cluster(
    name: str, spec: EffectiveCluster, version: Version | None = None, maps: ConfigMaps | None = None
) -> list[Problem]:
    """All that is wrong with a ValkeyCluster."""
    found = maps or {}
    return [
        *check_name(name, LONGEST_SHARDED_NAME),
        *check_workload(spec, spec.replicas, version, found),
        *_check_node_timeout(spec, found),
        *_check_replica_migration(spec, found),
        *_check_bus(spec, found),
        *_check_stop(spec, found),
        *_check_elections(spec, found),
        *_check_bounds(spec, found),
        *_check_memory(spec, found),
    ]


def check_resume(spec: EffectiveCluster, asleep: Sleep | None) -> Iterator[Problem]:
    """A cluster wakes up as it fell asleep: slots move only while it is awake."""
    if asleep is not None and spec.replicas > 0 and spec.shards != asleep.asked:
        remedy = (
            f"the cluster was suspended with {asleep.asked}, and slots move only while it is awake; set it to "
            f"{asleep.asked}, and to {spec.shards} once it is Ready"
        )
        yield Problem("spec.shards", str(spec.shards), remedy)


def cluster_warnings(spec: EffectiveCluster) -> list[Problem]:
    """What is allowed and seldom meant."""
    return [*warnings_of(spec), *_warn_of_lost_data(spec), *_warn_of_barrier(spec)]


def _check_node_timeout(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    text = directives_for(spec, maps)[NODE_TIMEOUT][-1]
    origin = _written(NODE_TIMEOUT, spec, maps)
    if not (text.isascii() and text.isdecimal()):
        yield _problem(origin, "it must be a whole number of milliseconds; or use spec.cluster.nodeTimeout")
    elif int(text) < LEAST_NODE_TIMEOUT_MS:
        yield _problem(
            origin,
            f"leave to write would end before it can be asked for again; give at least {LEAST_NODE_TIMEOUT_MS} ms",
        )


def _check_replica_migration(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    wanted = "no" if spec.cluster.migration_barrier is None else "yes"
    if directives_for(spec, maps)[REPLICA_MIGRATION][-1].lower() != wanted:
        remedy = "spec.cluster.migrationBarrier decides whether replicas move by themselves; remove it, and set that"
        yield _problem(_written(REPLICA_MIGRATION, spec, maps), remedy)


def _check_bus(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    if directives_for(spec, maps).get("cluster-port", ["0"])[-1] != "0":
        remedy = "nodes reach each other through their Services, which know only the usual port; remove it"
        yield _problem(_written("cluster-port", spec, maps), remedy)


def _check_stop(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    if "failover" in directives_for(spec, maps).get("shutdown-on-sigterm", [""])[-1].lower().split():
        remedy = "a node hands over before its pod stops, and two of them would race; take failover out of it"
        yield _problem(_written("shutdown-on-sigterm", spec, maps), remedy)


def _check_elections(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    """What lets old data win, or a server vote twice. Who promises nothing about writes may have it."""
    if spec.durability == "Cache":
        return
    given = directives_for(spec, maps)
    factor = given.get(VALIDITY_FACTOR, [""])[-1].strip()
    if factor.isdecimal() and int(factor) == 0:
        remedy = "a replica with data of any age could be elected; give at least 1, or set spec.durability to Cache"
        yield _problem(_written(VALIDITY_FACTOR, spec, maps), remedy)
    if given.get(SAVE_BEHAVIOR, ["sync"])[-1].lower() != "sync":
        remedy = "a server that has restarted could vote again in the same election, and two replicas win it; remove it"
        yield _problem(_written(SAVE_BEHAVIOR, spec, maps), f"{remedy}, or set spec.durability to Cache")


def _check_bounds(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    given = directives_for(spec, maps)
    for name, (least, most, why) in _BOUNDS.items():
        text = given.get(name, [""])[-1].strip()
        if text and not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            yield _problem(_written(name, spec, maps), why)


def _check_memory(spec: EffectiveCluster, maps: ConfigMaps) -> Iterator[Problem]:
    """A server that may grow beyond its limit is killed before it evicts or refuses anything."""
    limit = (spec.resources or {}).get("limits", {}).get("memory")
    wanted = parse_memory(directives_for(spec, maps).get("maxmemory", [""])[-1])
    if limit is not None and wanted is not None and wanted > parse_quantity(limit):
        remedy = f"the server would be killed before it is full: spec.resources.limits.memory is {limit}; lower it"
        yield _problem(_written("maxmemory", spec, maps), f"{remedy}, or raise the limit")


def _warn_of_lost_data(spec: EffectiveCluster) -> Iterator[Problem]:
    if spec.replicas == 0 and not spec.persistence.enabled:
        remedy = "with persistence.enabled false there are no volumes, so all data are gone with the pods"
        yield Problem("spec.replicas", "0", remedy)


def _warn_of_barrier(spec: EffectiveCluster) -> Iterator[Problem]:
    barrier, replicas = spec.cluster.migration_barrier, spec.replicas - 1
    if barrier is not None and replicas <= barrier and spec.replicas > 0:
        remedy = (
            f"no replica ever moves: each shard has {replicas}, and {barrier} must stay; raise replicas, or lower it"
        )
        yield Problem("spec.cluster.migrationBarrier", str(barrier), remedy)


def _written(directive: str, spec: EffectiveCluster, maps: ConfigMaps) -> Origin:
    """Where a user wrote it, in the user's own words."""
    origin = origin_of(directive, spec, maps)
    return Origin(origin.field, spec.cluster.node_timeout) if origin.field == "spec.cluster.nodeTimeout" else origin


def _problem(origin: Origin, remedy: str) -> Problem:
    value = origin.value
    return Problem(origin.field, "not given" if value is None else shown(value), remedy)
