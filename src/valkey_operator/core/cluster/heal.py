"""What is wrong with a cluster that has its slots: ids that are nobody's, epochs that are alike.

Owns: which ids are forgotten, and whose epoch is raised. An id is forgotten only where all members have spoken, nobody
owns slots or follows anybody by it, and no member lives under it; what a stranger owns is said, never taken. Refuses to
know: nodes that do not know each other (connect.py), open slots (open_slots.py), replicas (replicas.py).
"""

from valkey_operator.core.cluster.roles import Cluster, is_reborn
from valkey_operator.core.cluster.steps import NOTHING, BumpEpoch, ClusterPlan, Forget, steps_only
from valkey_operator.core.cluster.view import NodeTruth


def forget_strangers(cluster: Cluster) -> ClusterPlan:
    """Forget ids of servers that were, and of nodes that belong to somebody else."""
    steps, waiting = [], []
    for node in cluster.view.strangers():
        if obstacle := _obstacle(cluster, node):
            waiting.append(obstacle)
        else:
            steps.append(Forget(nodes=cluster.view.spoke, id=node.id))
    return ClusterPlan(steps=tuple(steps), waits_for=tuple(waiting))


def part_epochs(cluster: Cluster) -> ClusterPlan:
    """Primaries with the same epoch: one of them gets a higher one. One at a time, or two would get the same again.

    Not while two claim one slot: a higher epoch would decide that, perhaps for the older data.
    """
    if cluster.view.disputed:
        return NOTHING
    for nodes in cluster.view.collisions():
        owning = [node for node in nodes if node.slots]
        if len(owning) > 1 and owning[-1].member is not None:
            return steps_only(BumpEpoch(node=owning[-1].member))
    return NOTHING


def _obstacle(cluster: Cluster, node: NodeTruth) -> str | None:
    """Why an id is not forgotten yet."""
    who = f"{node.hostname or 'a node without a name'} ({node.id[:8]})"
    if cluster.followers.get(node.id):
        return f"its replicas to follow another one, before {who} is forgotten"
    if node.slots and not (cluster.facts.may_lose and is_reborn(cluster, node)):
        return f"somebody to decide about {who}, which is none of our nodes and owns the slots {node.slots}"
    if cluster.view.is_partial:
        return f"{', '.join(cluster.view.missing)} to be heard of, before {who} is forgotten"
    return None
