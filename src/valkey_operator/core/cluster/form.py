"""A new cluster gets its slots, once; slots that lose their owner later are never simply given out.

Owns: who gets which slots at first, when a cluster counts as formed, and what is done about slots without an owner. The
first node of each shard becomes its primary. Refuses to know: how nodes meet (connect.py), and who follows them
(replicas.py).
"""

import msgspec

from valkey_operator.core.cluster.facts import Member, runs
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.cluster.steps import (
    NOTHING,
    AddSlots,
    ClusterPlan,
    Reason,
    Remember,
    Step,
    steps_only,
    wait_for,
)
from valkey_operator.core.names import LOSS_ANNOTATION
from valkey_operator.valkey.slots import Slots


def form(cluster: Cluster) -> ClusterPlan:
    """Give out all slots, and remember that it was done."""
    facts, view = cluster.facts, cluster.view
    if facts.record.formed:
        return NOTHING
    if not view.unassigned and not view.dissenters and not view.disputed:
        record = msgspec.structs.replace(facts.record, formed=True)
        return steps_only(Remember(record=record, reason=Reason.FORMED, message=f"{facts.shards} shards own all slots"))
    absent = [shard for shard in range(facts.shards) if _first(cluster, shard) is None]
    if absent:
        return wait_for(f"the first node of shard {', '.join(map(str, absent))} to run")
    return ClusterPlan(steps=_additions(cluster))


def lost_slots(cluster: Cluster) -> ClusterPlan:
    """Slots that have no owner any more: said, and given out again, empty, only where that is allowed."""
    facts, view = cluster.facts, cluster.view
    lost = view.unassigned
    if not facts.record.formed or not lost or not view.spoke:
        return NOTHING
    if view.is_partial:
        return wait_for(f"{', '.join(view.missing)} to say who owns the slots {lost}")
    if not facts.may_lose:
        leave = f'give it by the annotation {LOSS_ANNOTATION}: "true"'
        return wait_for(f"leave to give out the slots {lost} anew: nobody has them, and their keys are lost; {leave}")
    return ClusterPlan(steps=_additions(cluster))


def _additions(cluster: Cluster) -> tuple[Step, ...]:
    found: list[Step] = []
    for shard, home in enumerate(first_slots(cluster.facts.shards)):
        first, slots = _first(cluster, shard), home & _free(cluster)
        if first is not None and slots:
            found.append(AddSlots(node=first.name, slots=slots))
    return tuple(found)


def _free(cluster: Cluster) -> Slots:
    """Slots that nobody owns, and nobody takes over key by key: those are settled instead."""
    return cluster.view.unassigned - cluster.view.open_slots


def _first(cluster: Cluster, shard: int) -> Member | None:
    """Who gets the slots of a shard: its first node; where that is a replica by now, or was lost, the primary."""
    first = next((each for each in cluster.facts.of_shard(shard) if each.index == 0), None)
    follows = first is not None and cluster.primary_followed(first) is not None
    chosen = cluster.primaries.get(shard) if follows or cluster.facts.record.formed else first
    return chosen if chosen is not None and runs(chosen) else None
