"""The next steps of a cluster: first that somebody owns the slots, then that all is well, then what else is wished for.

Owns: which questions are asked, and which come before others. A lost owner comes before all else; the rest concern
different things and go together, so that a node which never comes back keeps nobody from being healed. Refuses to know:
how steps are carried out, and who asks.

Roles and slots are those that the servers tell; the record holds only what no server remembers.
"""

from collections.abc import Iterable, Iterator

import msgspec

from valkey_operator.core.cluster.connect import connect
from valkey_operator.core.cluster.epochs import keep_leave
from valkey_operator.core.cluster.facts import ClusterFacts, Sleep
from valkey_operator.core.cluster.failover import fail_over, mend_takeover
from valkey_operator.core.cluster.form import form, lost_slots
from valkey_operator.core.cluster.gate import open_gates
from valkey_operator.core.cluster.handover import hand_over
from valkey_operator.core.cluster.heal import forget_strangers, part_epochs
from valkey_operator.core.cluster.migrate import migrate
from valkey_operator.core.cluster.open_slots import close_slots
from valkey_operator.core.cluster.replicas import attach, detach
from valkey_operator.core.cluster.roles import Cluster, look_at
from valkey_operator.core.cluster.scale import shards_that_stay
from valkey_operator.core.cluster.steps import NOTHING, ClusterPlan, Reason, Remember, steps_only, together, wait_for


def plan_cluster(facts: ClusterFacts) -> ClusterPlan:
    """What to do next; the same facts give the same plan."""
    if facts.replicas == 0:
        return _suspend(facts)
    asleep = facts.record.asleep
    if asleep is not None and asleep.asked != facts.shards:
        return wait_for(
            f"spec.shards to be {asleep.asked} again, as when the cluster was suspended: slots move only while it is "
            f"awake; set another number once it is Ready"
        )
    cluster = look_at(facts)
    leave, gates, lost = keep_leave(cluster), open_gates(cluster), fail_over(cluster)
    if _writes(leave):
        # Whoever is let in or told anything is so in the epoch on record. An owner whose heir is known does not wait.
        return together(lost, gates) if lost.steps else leave
    if lost.steps:
        return together(leave, lost, gates)
    return together(leave, lost, gates, *_one_record(ask(cluster) for ask in _QUESTIONS))


def _one_record(plans: Iterable[ClusterPlan]) -> Iterator[ClusterPlan]:
    """All plans, but of those that change the record only the first: the others have not seen what it changes."""
    written = False
    for plan in plans:
        if not (_writes(plan) and written):
            yield plan
        written = written or _writes(plan)


def _writes(plan: ClusterPlan) -> bool:
    return any(isinstance(step, Remember) for step in plan.steps)


def _suspend(facts: ClusterFacts) -> ClusterPlan:
    if not facts.record.formed or facts.record.asleep is not None:
        return NOTHING
    shards = max((each.shard + 1 for each in facts.members), default=facts.shards)
    replicas = max((each.index + 1 for each in facts.members), default=0)
    sleep = Sleep(shards=shards, replicas=replicas, asked=facts.shards)
    record = msgspec.structs.replace(facts.record, asleep=sleep, attempts=(), failures=())
    return steps_only(Remember(record=record, reason=Reason.SUSPENDED, message="the nodes go, their volumes stay"))


def _awake(cluster: Cluster) -> ClusterPlan:
    """A cluster that slept is awake once all its slots are owned by nodes that run."""
    record = cluster.facts.record
    if record.asleep is None or not cluster.view.is_agreed or cluster.view.unassigned:
        return NOTHING
    record = msgspec.structs.replace(record, asleep=None)
    return steps_only(Remember(record=record, reason=Reason.RESUMED, message="all slots are served again"))


_QUESTIONS = (
    _awake,
    form,
    lost_slots,
    connect,
    attach,
    detach,
    close_slots,
    mend_takeover,
    part_epochs,
    forget_strangers,
    migrate,
    shards_that_stay,
    hand_over,
)
