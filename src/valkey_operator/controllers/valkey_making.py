"""The objects of a Valkey: all that shall exist is made, its record first, and then its nodes.

Owns: their order, and what is not made beside an object of somebody else. Refuses to know: how a single one is made
(valkey_objects.py), which nodes are needed and whose turn it is (core/shard/members.py).
"""

import asyncio
from collections.abc import Collection

from valkey_operator.api.status import ConditionType
from valkey_operator.controllers.keeper import NameConflictError, all_done
from valkey_operator.controllers.kinds import SECRETS, SERVICE_ACCOUNTS, ShardObject
from valkey_operator.controllers.valkey_case import Case, Cases, End
from valkey_operator.controllers.valkey_facts import ValkeyGround
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.core.names import node_index
from valkey_operator.core.render.node import valkey_node
from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.core.shard.members import is_alone, last_copy, needed_indices, next_eviction, next_turn
from valkey_operator.core.shard.settings import is_proven
from valkey_operator.core.status.conditions import is_said

_NEEDED_BY_PODS = frozenset({SERVICE_ACCOUNTS.resource.kind, SECRETS.resource.kind})


class ObjectMaker:
    """For one term."""

    def __init__(self, facts: ValkeyGround, cases: Cases, objects: ValkeyObjects) -> None:
        self._facts = facts
        self._cases = cases
        self._objects = objects

    async def make(self, case: Case) -> End:
        """Everything that shall exist; a spec that cannot be carried out leaves all as it is."""
        if case.problems:
            return End()
        volumes, existing = self._facts.volumes(case.valkey), self._facts.nodes(case.valkey)
        alone = is_alone(case.spec.replicas, len(existing))
        record, conflicts = await asyncio.gather(
            self._ensure_record(case, volumes if case.spec.persistence.enabled else (), existing),
            self._objects.ensure(case.source.owner, case.source.labels, case.spec, alone=alone),
        )
        case.conflicts.extend(str(conflict) for conflict in conflicts)
        # A pod would run under an account, or with a password, that is somebody else's.
        if record is not None and not {conflict.kind for conflict in conflicts} & _NEEDED_BY_PODS:
            needed = needed_indices(
                case.key.name, record.spec, replicas=case.spec.replicas, existing=existing, volumes=volumes
            )
            await self._ensure_nodes(case, self._cases.view(case, record).facts, needed)
        return End()

    async def _ensure_record(self, case: Case, volumes: Collection[int], nodes: Collection[int]) -> ShardObject | None:
        """The record; None where one of that name is not ours."""
        try:
            return await self._objects.ensure_record(
                case.source.owner, case.source.labels, volumes=volumes, nodes=nodes
            )
        except NameConflictError as conflict:
            case.conflicts.append(str(conflict))
            return None

    async def _ensure_nodes(self, case: Case, shard: ShardFacts, needed: Collection[int]) -> None:
        """And the budget, which says whose pod may be evicted."""
        source = case.source
        turn, proven, eviction = _turn(case, shard), is_proven(shard), next_eviction(shard)
        taken = await all_done(
            *(self._ensure_node(case, index, turn, is_proven=proven) for index in sorted(needed)),
            self._objects.ensure_budget(source.owner, source.labels, case.spec, next_eviction=eviction),
        )
        case.conflicts.extend(str(conflict) for conflict in taken)

    async def _ensure_node(self, case: Case, index: int, turn: str | None, *, is_proven: bool) -> None:
        is_its_turn = turn is not None and node_index(case.key.name, turn) == index
        before = self._facts.made_before(case.valkey, index)
        node = valkey_node(case.source, index, is_its_turn=is_its_turn, before=before, is_proven=is_proven)
        await self._objects.nodes.ensure(node)


def _turn(case: Case, shard: ShardFacts) -> str | None:
    """Whose pod is replaced next; if writes stop by that, not before it was said."""
    turn, status = next_turn(shard), case.valkey.status
    must_be_said = turn is not None and turn == last_copy(shard)
    was_said = status is not None and is_said(status.conditions, ConditionType.WRITES_STOP)
    return turn if was_said or not must_be_said else None
