"""Which shards give or take slots at this moment.

Owns: that question, for those who must keep away meanwhile: nobody hands over there, and no pod is replaced; who could
call it off; and whether a step begins a move. Refuses to know: what moves next (migrate.py).
"""

from collections.abc import Collection

from valkey_operator.core.cluster.facts import Member, runs
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import Migrate, Step
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration


def moving_shards(cluster: Cluster) -> set[int]:
    """Those of nodes that hold a slot open or migrate atomically, and of those with whom they do."""
    view = cluster.view
    members = [cluster.facts.member(name) for name, _ in (*view.giving, *view.taking)]
    peers = {peer for _, peer in (*view.giving, *view.taking)}
    for _, migration in under_way(cluster):
        peers |= {node for node in (migration.source, migration.target) if node is not None}
    shards = {cluster.shard_of(peer) for peer in peers}
    return {each.shard for each in members if each} | {shard for shard in shards if shard is not None}


def atomic_givers(cluster: Cluster, shards: Collection[int]) -> list[str]:
    """Nodes that give slots all at once, from or to one of these shards; only they can call it off."""
    found: set[str] = set()
    for member, migration in under_way(cluster):
        giver_id = migration.source if migration.importing else cluster.view.ids[member.name]
        giver = cluster.view.nodes.get(giver_id or "")
        ends = {cluster.shard_of(node) for node in (giver_id, migration.target) if node is not None}
        if giver is not None and giver.member is not None and not ends.isdisjoint(shards):
            found.add(giver.member)
    return sorted(found)


def begins_move(cluster: Cluster, step: Step) -> bool:
    """Whether a step sets slots in motion that rest; one that goes on with open slots does not."""
    return isinstance(step, Migrate) and not step.slots & cluster.view.open_slots


def under_way(cluster: Cluster) -> list[tuple[Member, SlotMigration]]:
    """Atomic migrations that have not ended, with the node that tells of them."""
    return [
        (member, migration)
        for member in cluster.facts.members
        for migration in member.migrations
        if runs(member) and migration.state is MigrationState.UNDER_WAY
    ]
