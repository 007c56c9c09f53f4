"""The objects of a ValkeyCluster: all that shall exist is made, its record first, and then its nodes.

Owns: their order, and what is not made beside an object of somebody else. Refuses to know: how a single one is made
(cluster_objects.py), which nodes are needed and whose turn it is (core/cluster).
"""

import asyncio
from collections.abc import Collection

from valkey_operator.api.status import ConditionType
from valkey_operator.controllers.belongings import made_as
from valkey_operator.controllers.cluster_case import ClusterCase, ClusterCases
from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.keeper import NameConflictError, all_done
from valkey_operator.controllers.kinds import SECRETS, SERVICE_ACCOUNTS, NodeObject, ShardObject
from valkey_operator.controllers.valkey_case import End
from valkey_operator.core.cluster.pods import next_evictions
from valkey_operator.core.cluster.record import first_memory, memory_of
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.roll import last_copies, next_turns
from valkey_operator.core.cluster.scale import Place, needed_places
from valkey_operator.core.cluster.settings import is_proven
from valkey_operator.core.names import EMPTY_ANNOTATION
from valkey_operator.core.render.node import valkey_node
from valkey_operator.core.status.conditions import is_said

_NEEDED_BY_PODS = frozenset({SERVICE_ACCOUNTS.resource.kind, SECRETS.resource.kind})


class ClusterMaker:
    """For one term."""

    def __init__(self, facts: ClusterGround, cases: ClusterCases, objects: ClusterObjects) -> None:
        self._facts = facts
        self._cases = cases
        self._objects = objects

    async def make(self, case: ClusterCase) -> End:
        """Everything that shall exist; a spec that cannot be carried out leaves all as it is."""
        if case.problems:
            return End()
        record, conflicts = await asyncio.gather(self._ensure_record(case), self._objects.ensure(case.owner, case.spec))
        case.conflicts.extend(str(conflict) for conflict in conflicts)
        # A pod would run under an account, or with a password, that is somebody else's.
        if record is not None and not {conflict.kind for conflict in conflicts} & _NEEDED_BY_PODS:
            await self._ensure_nodes(case, self._cases.sight(case, memory_of(record.spec)))
        return End()

    async def _ensure_record(self, case: ClusterCase) -> ShardObject | None:
        """The record; None where one of that name is not ours."""
        places = self._facts.places(case.cluster, with_volumes=case.spec.persistence.enabled)
        try:
            return await self._objects.ensure_record(case.owner, first_memory(places, case.spec.shards))
        except NameConflictError as conflict:
            case.conflicts.append(str(conflict))
            return None

    async def _ensure_nodes(self, case: ClusterCase, sight: ClusterSight) -> None:
        """And the budgets, which say whose pods may be evicted."""
        cluster, existing = sight.cluster, self._facts.nodes(case.cluster)
        needed = needed_places(cluster.facts)
        renewed = await self._make_volumes_anew(case, needed, existing)
        turns, proven = _turns(case, cluster), is_proven(cluster.facts)
        shards = {shard for shard, _ in (*needed, *existing)}
        conflicts, more = await asyncio.gather(
            all_done(
                *(
                    self._ensure_node(case, place, existing.get(place), turns=turns, is_proven=proven)
                    for place in sorted(needed - renewed)
                )
            ),
            self._objects.ensure_budgets(case.owner, case.spec, shards, next_evictions(cluster)),
        )
        case.conflicts.extend(str(conflict) for conflict in (*conflicts, *more))

    async def _ensure_node(
        self, case: ClusterCase, place: Place, node: NodeObject | None, *, turns: Collection[Place], is_proven: bool
    ) -> None:
        shard, index = place
        manifest = valkey_node(
            case.source(shard),
            index,
            is_its_turn=place in turns,
            before=None if node is None else made_as(node),
            is_proven=is_proven,
            zone=None if node is None else self._facts.zone(node),
        )
        await self._objects.nodes.ensure(manifest)

    async def _make_volumes_anew(
        self, case: ClusterCase, needed: Collection[Place], existing: Collection[Place]
    ) -> set[Place]:
        """What was moved away is thrown away before a volume is used again; the places that wait for that."""
        marked = {
            place: claim
            for place, claim in self._facts.claims(case.cluster).items()
            if place in needed and EMPTY_ANNOTATION in claim.metadata.annotations
        }
        stale = {place: claim for place, claim in marked.items() if place not in existing}
        await asyncio.gather(
            *(self._objects.claims.remove(claim.key) for claim in stale.values()),
            # Its shard was to go, and stays after all.
            *(self._objects.mark_empty(marked[place], is_empty=False) for place in marked.keys() - stale.keys()),
        )
        return set(stale)


def _turns(case: ClusterCase, cluster: Cluster) -> set[Place]:
    """Whose pods are replaced next; where writes stop by that, not before it was said."""
    status, last = case.cluster.status, last_copies(cluster)
    was_said = status is not None and is_said(status.conditions, ConditionType.WRITES_STOP)
    chosen = [each for each in next_turns(cluster) if was_said or each not in last]
    members = [cluster.facts.member(name) for name in chosen]
    return {(each.shard, each.index) for each in members if each is not None}
