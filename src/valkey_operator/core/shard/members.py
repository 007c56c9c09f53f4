"""Which nodes a shard has: those that are asked for, and those that cannot go yet.

Owns: who is wanted, who may be removed, whose pod is replaced or may be evicted now. At most one pod at a time.
Refuses to know: who becomes primary (primary.py, switchover.py), and whose pod comes first (turns.py).
"""

from collections.abc import Collection

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.names import node_index
from valkey_operator.core.shard.facts import ShardFacts, is_changing, runs_as
from valkey_operator.core.shard.parting import still_counts
from valkey_operator.core.shard.turns import all_well, candidate, is_being_replaced
from valkey_operator.valkey.info import Role


def first_record_names_primary(volumes: Collection[int], nodes: Collection[int]) -> bool:
    """Whether a shard without a record may simply begin: nothing of that name is left that could have data.

    Nodes without a record are those whose record somebody has deleted: one of them may be primary.
    """
    return not volumes and not nodes


def is_alone(replicas: int, nodes: int) -> bool:
    """Whether there is one node and shall be no other."""
    return replicas == 1 and nodes <= 1


def needed_indices(
    owner: str, record: ValkeyShardSpec, *, replicas: int, existing: Collection[int], volumes: Collection[int]
) -> set[int]:
    """The nodes that must exist now: those asked for, and those whose copy of the data is not to be given up yet."""
    if replicas == 0:
        return set()
    asked = set(range(replicas))
    if record.primary is None:
        return asked | set(volumes)
    primary = node_index(owner, record.primary)
    if primary is not None and primary not in asked and (primary in existing or primary in volumes):
        return asked | {primary}
    return asked


def removable(facts: ShardFacts) -> list[str]:
    """Nodes that may go: all when suspended; else those not asked for, once a primary is there that stays."""
    if facts.replicas == 0:
        return [member.name for member in facts.members]
    primary = facts.member(facts.record.primary)
    settled = primary is not None and primary.wanted and runs_as(primary.view, Role.PRIMARY)
    if not settled or is_changing(facts):
        return []
    listed = set(facts.record.promotable or ())
    return [member.name for member in facts.members if not member.wanted and member.name not in listed]


def next_turn(facts: ShardFacts) -> str | None:
    """The node whose pod is replaced next for a changed spec, once nothing goes with it that others lack."""
    turn, primary = candidate(facts), facts.member(facts.record.primary)
    going = facts.member(turn)
    if going is None or (primary is not None and still_counts(facts, primary, going)):
        return None
    return turn


def last_copy(facts: ShardFacts) -> str | None:
    """The primary that has to be restarted for a changed spec while nobody could take over: writes stop meanwhile."""
    primary = facts.member(facts.record.primary)
    if primary is None or not primary.stale or not runs_as(primary.view, Role.PRIMARY):
        return None
    return primary.name if [member for member in facts.members if member.wanted] == [primary] else None


def next_eviction(facts: ShardFacts) -> str | None:
    """The node whose pod may be evicted where all are guarded: on a cordoned machine, no primary, and all are well."""
    primary = facts.member(facts.record.primary)
    if primary is None or is_changing(facts) or next_turn(facts) is not None:
        return None
    if not all_well(facts, primary) or any(is_being_replaced(each) for each in facts.members):
        return None
    cordoned = [member.name for member in facts.others(primary.name) if member.cordoned]
    return cordoned[-1] if cordoned else None
