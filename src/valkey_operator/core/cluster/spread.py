"""Primaries drift together with every failover: too many on one machine, and its loss takes the majority along.

Owns: which primary would be better elsewhere. Only a handover that makes it strictly more even is worth one, so that it
ends; a zone that the spec gives to a shard comes first. Refuses to know: when there is time for it (handover.py).
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from valkey_operator.core.cluster.facts import Member, is_linked, runs, stays
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.slots import moves_to

_REST = timedelta(seconds=10)
"""After any change of a primary, before one is moved only to be better placed."""
_WORTH_IT = 2
"""A machine must have so many more primaries than the other."""


def better_places(cluster: Cluster) -> Iterator[tuple[Member, Member]]:
    """Primaries and their replicas that should change places; none: all is well, or it is not the time for it."""
    if not _is_calm(cluster):
        return
    on_machine = Counter(each.machine for each in cluster.primaries.values())
    for shard, primary in sorted(cluster.primaries.items()):
        for replica in cluster.linked_replicas(primary):
            is_fit = stays(replica) and not replica.cordoned and replica.shard == shard
            if is_fit and _is_better(cluster, primary, replica, on_machine):
                yield primary, replica


def rest_s(cluster: Cluster) -> float | None:
    """How long all stay where they are after the last change of a primary; None: long enough."""
    last = max((each.at for each in cluster.facts.record.attempts), default=None)
    left_s = 0.0 if last is None else (last + _REST - cluster.facts.now).total_seconds()
    return left_s if left_s > 0 else None


def _is_better(cluster: Cluster, primary: Member, replica: Member, on_machine: Counter[str | None]) -> bool:
    home = _home_zone(cluster, primary.shard)
    if home is not None and (primary.zone == home) != (replica.zone == home):
        return replica.zone == home
    if primary.machine is None or replica.machine is None:
        return False
    return on_machine[primary.machine] - on_machine[replica.machine] >= _WORTH_IT


def _home_zone(cluster: Cluster, shard: int) -> str | None:
    zones = cluster.facts.zones
    return zones[shard % len(zones)] if zones else None


def _is_calm(cluster: Cluster) -> bool:
    """Nobody is missing, astray, out of sync, or about to be replaced; all is where it shall be."""
    members = cluster.facts.members
    rested = rest_s(cluster) is None
    moving = cluster.strays() or moves_to(cluster.held_slots(), cluster.facts.shards)
    settled = cluster.view.is_agreed and not cluster.view.open_slots and rested and not moving
    sizes = {shard for shard in cluster.primaries if shard < cluster.facts.shards}
    in_sync = all(runs(each) and (is_linked(each) or cluster.primaries.get(each.shard) is each) for each in members)
    return settled and in_sync and len(sizes) == cluster.facts.shards and not any(each.stale for each in members)
