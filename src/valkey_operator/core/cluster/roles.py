"""Who is primary of which shard, as the servers say, and who follows whom.

Owns: the answer to "which member is the shard's primary", dead or alive, and the order of its heirs. A name says to
which shard a node belongs, never what it is. Refuses to know: when a primary is replaced.
"""

from collections.abc import Iterable, Mapping

import msgspec

from valkey_operator.core.cluster.facts import (
    ClusterFacts,
    Member,
    is_linked,
    offset_of,
    runs,
    stays,
)
from valkey_operator.core.cluster.view import ClusterView, NodeTruth, merge_views
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import Slots


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The facts, the view merged from them, and the roles that it tells. Made once per plan."""

    facts: ClusterFacts
    view: ClusterView
    primaries: Mapping[int, Member]
    """The primary of each shard that has one."""
    followers: Mapping[str, tuple[Member, ...]]
    """By the id of their primary, whatever their names say."""

    def replicas_of(self, primary: Member) -> tuple[Member, ...]:
        """All members that follow it, connected or not."""
        return self.followers.get(self.view.ids.get(primary.name, ""), ())

    def primary_followed(self, member: Member) -> Member | None:
        """The member that it follows, whatever their names say."""
        node = self.view.primary_of(member)
        return self.facts.member(node.member) if node else None

    def lost_owner_followed(self, member: Member) -> NodeTruth | None:
        """The owner of slots that it follows and that does not run: its copy may be the last one."""
        followed, known = self.view.primary_of(member), self.primary_followed(member)
        if followed is None or not followed.slots or (known is not None and runs(known)):
            return None
        return followed

    def linked_replicas(self, primary: Member) -> list[Member]:
        """Those whose link to it is up."""
        return [each for each in self.replicas_of(primary) if is_linked(each)]

    def owners(self) -> list[Member]:
        """All members that own slots, dead or alive: those whose votes count."""
        return [each for each in self.facts.members if self.view.slots_of(each)]

    def strays(self) -> list[Member]:
        """Members that own slots beside the primary of their shard."""
        return [each for each in self.owners() if self.primaries.get(each.shard) is not each]

    def held_slots(self) -> dict[int, Slots]:
        """The slots of each shard's primary."""
        return {shard: self.view.slots_of(member) for shard, member in self.primaries.items()}

    def shard_of(self, node_id: str) -> int | None:
        """The shard to which the node of that id belongs."""
        node = self.view.nodes.get(node_id)
        member = self.facts.member(node.member) if node else None
        return member.shard if member else None


def look_at(facts: ClusterFacts) -> Cluster:
    """Merge what all nodes say, and read the roles in it."""
    view = merge_views(facts)
    followers: dict[str, list[Member]] = {}
    for member in facts.members:
        truth = view.truth_of(member)
        if truth is not None and truth.role is Role.REPLICA and truth.primary:
            followers.setdefault(truth.primary, []).append(member)
    kept = {node_id: tuple(members) for node_id, members in followers.items()}
    return Cluster(facts=facts, view=view, primaries=_primaries(facts, view, kept), followers=kept)


def is_primary(view: ClusterView, member: Member) -> bool:
    """Whether it is one, by its own word or that of the others."""
    truth = view.truth_of(member)
    return truth is not None and truth.role is Role.PRIMARY


def follows(view: ClusterView, member: Member, primary: Member) -> bool:
    """Whether it is a replica of that one, connected or not."""
    truth = view.truth_of(member)
    return truth is not None and truth.role is Role.REPLICA and truth.primary == view.ids.get(primary.name)


def is_reborn(cluster: Cluster, node: NodeTruth) -> bool:
    """Whether the member that it was runs under another id: it lost its nodes.conf, and with it its slots."""
    return any(each.hostname == node.hostname and runs(each) for each in cluster.facts.members)


def doubted(cluster: Cluster) -> list[str]:
    """Members that run by their own last word, and that others do not hear: that word may be old."""
    unheard = [node for node in cluster.view.nodes.values() if node.failed_for or node.suspected_by]
    members = [cluster.facts.member(node.member) for node in unheard]
    return [each.name for each in members if each is not None and runs(each)]


def best_of(members: Iterable[Member], *, shard: int | None = None) -> Member | None:
    """The furthest; among equals one of that shard, that stays, on a machine that stays, with the lowest number."""

    def rank(member: Member) -> tuple[int, bool, bool, bool, int]:
        return (offset_of(member), member.shard == shard, stays(member), not member.cordoned, -member.index)

    return max(members, key=rank, default=None)


def _primaries(
    facts: ClusterFacts, view: ClusterView, followers: Mapping[str, tuple[Member, ...]]
) -> dict[int, Member]:
    able = [each for each in facts.members if is_primary(view, each)]
    led = {each.shard for each in able}

    def rank(member: Member) -> tuple[bool, bool, int, bool, int, bool, int]:
        """One that owns slots; best not those of a shard that has no primary of its own, which will take them back."""
        slots, mine = view.slots_of(member), followers.get(view.ids[member.name], ())
        lent = any(each.shard not in led for each in mine)
        mates = sum(each.shard == member.shard for each in mine)
        return (bool(slots), not lent, len(slots), member.wanted, mates, runs(member), -member.index)

    found: dict[int, Member] = {}
    for member in sorted(able, key=rank):
        found[member.shard] = member
    return found
