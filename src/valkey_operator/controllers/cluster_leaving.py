"""Nodes of a ValkeyCluster that go, and what becomes of their volumes.

Owns: how they go. A volume of a shard that was emptied is marked before its node goes: what is on it was moved away,
and would come back as keys of slots that others own. Refuses to know: who may go (core/cluster/scale.py).
"""

import asyncio

from valkey_operator.controllers.cluster_case import ClusterCase
from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.core.cluster.scale import needed_places, removable
from valkey_operator.kube.objects import Key


class NodeRemover:
    """For one term."""

    def __init__(self, facts: ClusterGround, objects: ClusterObjects) -> None:
        self._facts = facts
        self._objects = objects

    async def remove(self, case: ClusterCase, sight: ClusterSight) -> None:
        """Whoever may go goes, and volumes that nobody will take up again."""
        names = removable(sight.cluster)
        claims = self._facts.claims(case.cluster)
        places = {(each.shard, each.index): each.name for each in sight.facts.members}
        if case.spec.replicas:
            emptied = [place for place, name in places.items() if name in names and place[0] >= case.spec.shards]
            marks = (self._objects.mark_empty(claims[place], is_empty=True) for place in emptied if place in claims)
            await asyncio.gather(*marks)
        await asyncio.gather(*(self._objects.nodes.remove(Key(case.key.namespace, name)) for name in names))
        if case.spec.persistence.retention == "Delete" and case.spec.replicas:
            gone = claims.keys() - places.keys() - needed_places(sight.facts)
            await asyncio.gather(*(self._objects.claims.remove(claims[place].key) for place in gone))
