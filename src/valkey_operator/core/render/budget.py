"""The PodDisruptionBudget of a shard: how many of its pods may be evicted at the same time.

Owns: when there is one, and what it allows. Its selector is that of one shard alone: a pod under two budgets could not
be evicted at all. Refuses to know: which pod may go next where all are guarded (core/shard/members.py).
"""

from collections.abc import Mapping

from valkey_operator.core.effective import EffectiveWorkload
from valkey_operator.core.names import NODE_LABEL, Owner, pods_of, shard_name
from valkey_operator.core.render.objects import Manifest, metadata


def disruption_budget(
    owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload, *, replicas: int, next_eviction: str | None
) -> Manifest | None:
    """The budget of a shard with so many pods, or None where there shall be none."""
    guarded = spec.disruption.mode == "Guarded"
    # What protects a single pod stops every drain for ever, unless somebody asks for just that.
    if spec.disruption.mode == "None" or replicas < (1 if guarded else 2):
        return None
    return {
        "metadata": metadata(shard_name(labels), owner, labels, cr=owner.name),
        "spec": {
            # A number, not maxUnavailable: that would not count a node whose pod is missing altogether.
            "minAvailable": "100%" if guarded else replicas - 1,
            "selector": _all_but(labels, next_eviction if guarded else None),
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def _all_but(labels: Mapping[str, str], node: str | None) -> Manifest:
    selector: Manifest = {"matchLabels": pods_of(labels)}
    if node is not None:
        selector["matchExpressions"] = [{"key": NODE_LABEL, "operator": "NotIn", "values": [node]}]
    return selector
