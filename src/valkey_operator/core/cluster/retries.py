"""Slots that could not be moved: how often in a row, what the server said, and how long to wait before the next try.

Owns: the count of failures between two shards, told by the server's log of atomic migrations or remembered of steps
that were refused; how much less is tried, and the pauses. Refuses to know: which slots move (migrate.py).
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from valkey_operator.api.shard import LONGEST_ERROR
from valkey_operator.core.cluster.facts import ClusterRecord, Member, MoveFailure
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import Migrate
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration

LONGEST_PAUSE_S = 60.0
_FIRST_PAUSE_S = 0.25
_MOST_DOUBLINGS = 10


def last_failure(cluster: Cluster, source: Member, target: Member) -> MoveFailure | None:
    """What went wrong last between two nodes, and how often in a row: told by the server, or remembered."""
    remembered = next((each for each in cluster.facts.record.failures if _is_between(each, source, target)), None)
    logged = _logged_failure(source, target, cluster.view.ids[target.name])
    return max((each for each in (remembered, logged) if each), key=lambda each: each.at, default=None)


def pause_after(failure: MoveFailure) -> timedelta:
    """How long to wait: twice as long with each failure, a minute at most."""
    return timedelta(seconds=min(LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(failure.count, _MOST_DOUBLINGS)))


def at_most(slots: int, failure: MoveFailure | None) -> int:
    """How many slots to try: half as many with each failure, one at least."""
    return max(1, slots >> failure.count) if failure else slots


def with_failure(cluster: Cluster, step: Migrate, error: str) -> tuple[MoveFailure, ...]:
    """What to remember when a step was refused: one more failure in a row between these two."""
    source, target = cluster.facts.member(step.source), cluster.facts.member(step.target)
    if source is None or target is None:
        return cluster.facts.record.failures
    before = next((each.count for each in cluster.facts.record.failures if _is_between(each, source, target)), 0)
    failure = MoveFailure(source=source.shard, target=target.shard, count=before + 1, error=error, at=cluster.facts.now)
    return (*without_failure(cluster, step), failure)


def without_failure(cluster: Cluster, step: Migrate) -> tuple[MoveFailure, ...]:
    """What to remember when it was carried out."""
    source, target = cluster.facts.member(step.source), cluster.facts.member(step.target)
    if source is None or target is None:
        return cluster.facts.record.failures
    return tuple(each for each in cluster.facts.record.failures if not _is_between(each, source, target))


def with_outcomes(cluster: Cluster, outcomes: Iterable[tuple[Migrate, str | None]]) -> ClusterRecord:
    """What to remember once moves were ordered, of each of which it is known what the server refused, if it did."""
    record = cluster.facts.record
    for step, error in outcomes:
        facts = msgspec.structs.replace(cluster.facts, record=record)
        present = msgspec.structs.replace(cluster, facts=facts)
        found = without_failure(present, step) if error is None else with_failure(present, step, error[:LONGEST_ERROR])
        record = msgspec.structs.replace(record, failures=found)
    return record


def _is_between(failure: MoveFailure, source: Member, target: Member) -> bool:
    return (failure.source, failure.target) == (source.shard, target.shard)


def _logged_failure(source: Member, target: Member, target_id: str) -> MoveFailure | None:
    failed: list[SlotMigration] = []
    for migration in source.migrations:
        if migration.target == target_id and not migration.importing:
            if migration.state is not MigrationState.FAILED:
                break
            failed.append(migration)
    if not failed:
        return None
    at = datetime.fromtimestamp(failed[0].updated_s, UTC)
    return MoveFailure(source=source.shard, target=target.shard, count=len(failed), error=failed[0].message, at=at)
