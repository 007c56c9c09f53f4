"""Slots on their way to the shards that shall have them: which go next, how, how many at a time.

Owns: the next moves under the shares of the spec, and the choice between atomic and key by key. What moves follows from
the present distribution and the present spec alone, so a target that changes half-way needs no undoing.
Refuses to know: open slots (open_slots.py), failures (retries.py), and which shards there are (scale.py).
"""

from valkey_operator.core.cluster.facts import Member, is_linked, runs
from valkey_operator.core.cluster.failover import recent_attempt
from valkey_operator.core.cluster.handover import wishing_shards
from valkey_operator.core.cluster.moving import moving_shards, under_way
from valkey_operator.core.cluster.retries import at_most, last_failure, pause_after
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.scale import no_room
from valkey_operator.core.cluster.slots import Move, at_once, moves_to
from valkey_operator.core.cluster.steps import (
    NOTHING,
    CancelMigrations,
    ClusterPlan,
    Migrate,
    MigrationKind,
    together,
    wait_for,
)
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS, union

AT_A_TIME = {MigrationKind.ATOMIC: 4096, MigrationKind.KEY_BY_KEY: 64}
"""Slots of one step. An atomic one takes 0.1 s even for nothing; keys of open slots cost clients a redirection each."""
FIRST_ATOMIC_MAJOR = 9
_LOOK_S = 0.1


def migrate(cluster: Cluster) -> ClusterPlan:
    """The moves that can go now, between pairs of shards that have nothing else under way."""
    ours = union(cluster.view.slots_of(each) for each in cluster.owners())
    if not cluster.facts.record.formed or ours != ALL_SLOTS or cluster.view.disputed:
        return NOTHING
    moves = [*_moves_of_strays(cluster), *moves_to(cluster.held_slots(), cluster.facts.shards)]
    if not moves:
        return _cancelled(cluster)
    if silent := [each.name for each in cluster.owners() if not runs(each)]:
        return wait_for(f"{', '.join(silent)} to run, before slots move")
    if problem := no_room(cluster):
        return wait_for(problem)
    plans = [(move, _begin(cluster, move)) for move in moves]
    ready = at_once((move for move, plan in plans if plan.steps), moving_shards(cluster) | _unsettled_shards(cluster))
    chosen = (plan for move, plan in plans if move in ready or not plan.steps)
    return together(_cancelled(cluster), *chosen, wait_for(look_after_s=_LOOK_S))


def slots_to_move(cluster: Cluster) -> int:
    """How many slots are not yet where they shall be."""
    return sum(len(move.slots) for move in moves_to(cluster.held_slots(), cluster.facts.shards))


def _cancelled(cluster: Cluster) -> ClusterPlan:
    """A shard that is on its way out takes no more slots, begun or not."""
    givers = {
        member.name
        for member, migration in under_way(cluster)
        if not migration.importing and (cluster.shard_of(migration.target or "") or 0) >= cluster.facts.shards
    }
    return ClusterPlan(steps=tuple(CancelMigrations(node=name) for name in sorted(givers)))


def _begin(cluster: Cluster, move: Move) -> ClusterPlan:
    source, target = _source(cluster, move), cluster.primaries.get(move.target)
    if source is None or target is None or not runs(target):
        return wait_for(f"a primary of shard {move.target}, which shall get the slots {move.slots}")
    if obstacle := _not_ready(cluster, source, target):
        return wait_for(obstacle)
    kind, failure = _kind(source, target), last_failure(cluster, source, target)
    waits = (f"slots to move from {source.name} to {target.name}: {failure.error}",) if failure else ()
    if failure and cluster.facts.now - failure.at < pause_after(failure):
        return wait_for(*waits, look_after_s=pause_after(failure).total_seconds())
    step = Migrate(
        source=source.name,
        target=target.name,
        source_id=cluster.view.ids[source.name],
        target_id=cluster.view.ids[target.name],
        target_address=target.address,
        slots=move.slots.highest(at_most(AT_A_TIME[kind], cluster, source, target)),
        kind=kind,
    )
    return ClusterPlan(steps=(step,), waits_for=waits)


def _not_ready(cluster: Cluster, source: Member, target: Member) -> str | None:
    """Both know each other, clients are served where slots arrive, and what arrives is replicated at once."""
    if not target.serves:
        return f"{target.name} to serve clients"
    for one, other in ((source, target), (target, source)):
        line = one.seen.line(cluster.view.ids[other.name]) if one.seen else None
        if line is None or line.role is not Role.PRIMARY or not line.connected:
            return f"{one.name} to be connected with {other.name}"
    behind = [each.name for each in cluster.replicas_of(target) if runs(each) and not is_linked(each)]
    return f"{', '.join(behind)} to be in sync with {target.name}" if behind else None


def _moves_of_strays(cluster: Cluster) -> list[Move]:
    """A node that owns slots beside the primary of its shard gives them to that one."""
    found = []
    for stray in cluster.strays():
        borrowers = [each for each in cluster.replicas_of(stray) if each.shard not in cluster.primaries]
        if stray.shard in cluster.primaries and not borrowers:
            found.append(Move(source=stray.shard, target=stray.shard, slots=cluster.view.slots_of(stray)))
    return found


def _source(cluster: Cluster, move: Move) -> Member | None:
    if move.source != move.target:
        return cluster.primaries.get(move.source)
    return next((each for each in cluster.strays() if cluster.view.slots_of(each) == move.slots), None)


def _unsettled_shards(cluster: Cluster) -> set[int]:
    """Shards in which somebody takes over, or is about to."""
    leaving = {shard for shard, primary in cluster.primaries.items() if primary.pod_leaving or not runs(primary)}
    trying = {shard for shard in cluster.facts.all_shards() if recent_attempt(cluster, shard)}
    return leaving | trying | wishing_shards(cluster)


def _kind(source: Member, target: Member) -> MigrationKind:
    versions = [each.view.version if each.view else None for each in (source, target)]
    both = all(version and int(version.split(".")[0]) >= FIRST_ATOMIC_MAJOR for version in versions)
    return MigrationKind.ATOMIC if both else MigrationKind.KEY_BY_KEY
