"""Slots that could not be moved: how often, what the server said, and how long to wait before the next try.

Owns: the count of failures between two shards, told by the server's log of atomic migrations or remembered of steps
that were refused; how much less is tried, and the pauses. Each failure halves what is tried, each success doubles it:
one small move that went well says little about a large one. Refuses to know: which slots move (migrate.py).
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from valkey_operator.api.shard import LONGEST_ERROR
from valkey_operator.core.cluster.facts import ClusterRecord, Member, MoveFailure
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import Migrate
from valkey_operator.valkey.cluster_nodes import MigrationState

LONGEST_PAUSE_S = 60.0
MOST_COUNTED = 12
"""As often halved nothing is left of what is moved at a time; more would only take longer to grow back."""
_FIRST_PAUSE_S = 0.25
_MOST_DOUBLINGS = 10


def last_failure(cluster: Cluster, source: Member, target: Member) -> MoveFailure | None:
    """What went wrong between two nodes, told by the server or remembered; None: the last move went well."""
    failed = (each for each in _known(cluster, source, target) if each.error)
    return max(failed, key=lambda each: each.at, default=None)


def at_most(slots: int, cluster: Cluster, source: Member, target: Member) -> int:
    """How many slots to try: half as many with each failure, twice as many with each success after that."""
    halved = max((each.count for each in _known(cluster, source, target)), default=0)
    return max(1, slots >> halved)


def pause_after(failure: MoveFailure) -> timedelta:
    """How long to wait: twice as long with each failure, a minute at most."""
    return timedelta(seconds=min(LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(failure.count, _MOST_DOUBLINGS)))


def with_failure(cluster: Cluster, step: Migrate, error: str) -> tuple[MoveFailure, ...]:
    """What to remember when a step was refused: one more failure between these two."""
    source, target = cluster.facts.member(step.source), cluster.facts.member(step.target)
    if source is None or target is None:
        return cluster.facts.record.failures
    others, before = _others(cluster, source, target), _remembered(cluster, source, target)
    count = min(MOST_COUNTED, (before.count if before else 0) + 1)
    failure = MoveFailure(source=source.shard, target=target.shard, count=count, error=error, at=cluster.facts.now)
    return (*others, failure)


def without_failure(cluster: Cluster, step: Migrate) -> tuple[MoveFailure, ...]:
    """What to remember when it was carried out: one failure less."""
    source, target = cluster.facts.member(step.source), cluster.facts.member(step.target)
    if source is None or target is None:
        return cluster.facts.record.failures
    others, before = _others(cluster, source, target), _remembered(cluster, source, target)
    if before is None or before.count <= 1:
        return others
    return (*others, msgspec.structs.replace(before, count=before.count - 1, error=""))


def with_outcomes(cluster: Cluster, outcomes: Iterable[tuple[Migrate, str | None]]) -> ClusterRecord:
    """What to remember once moves were ordered, of each of which it is known what the server refused, if it did."""
    record = cluster.facts.record
    for step, error in outcomes:
        facts = msgspec.structs.replace(cluster.facts, record=record)
        present = msgspec.structs.replace(cluster, facts=facts)
        found = without_failure(present, step) if error is None else with_failure(present, step, error[:LONGEST_ERROR])
        record = msgspec.structs.replace(record, failures=found)
    return record


def _known(cluster: Cluster, source: Member, target: Member) -> list[MoveFailure]:
    logged = _logged_failure(source, target, cluster.view.ids[target.name])
    return [each for each in (_remembered(cluster, source, target), logged) if each is not None]


def _remembered(cluster: Cluster, source: Member, target: Member) -> MoveFailure | None:
    return next((each for each in cluster.facts.record.failures if _is_between(each, source, target)), None)


def _others(cluster: Cluster, source: Member, target: Member) -> tuple[MoveFailure, ...]:
    return tuple(each for each in cluster.facts.record.failures if not _is_between(each, source, target))


def _is_between(failure: MoveFailure, source: Member, target: Member) -> bool:
    return (failure.source, failure.target) == (source.shard, target.shard)


def _logged_failure(source: Member, target: Member, target_id: str) -> MoveFailure | None:
    """The server tells the newest first; of one that is under way or was called off nobody knows how it would end."""
    mine = [each for each in source.migrations if each.target == target_id and not each.importing]
    ended = [each for each in mine if each.state in {MigrationState.FAILED, MigrationState.SUCCESS}]
    count, last = 0, None
    for migration in reversed(ended):
        if migration.state is MigrationState.FAILED:
            count, last = min(MOST_COUNTED, count + 1), migration
        else:
            count = max(0, count - 1)
    if last is None or not count:
        return None
    error = (last.message or last.state.value) if ended[0] is last else ""
    at = datetime.fromtimestamp(last.updated_s, UTC)
    return MoveFailure(source=source.shard, target=target.shard, count=count, error=error, at=at)
