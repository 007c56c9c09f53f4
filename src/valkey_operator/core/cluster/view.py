"""Every node's own view, merged into one truth; where they disagree, both sides are kept.

Owns: who owns a slot, who follows whom, who is taken for failed by whom, who has not spoken, who speaks against the
others. Refuses to know: what to do about it.

Of itself a node knows best: its own line counts before what others say of it. Of a silent node the line with the
highest epoch counts. Where two claim a slot the higher epoch wins, as among the servers; it is called disputed.
"""

from collections.abc import Container, Mapping

import msgspec

from valkey_operator.core.cluster.facts import ClusterFacts, Member, is_at_gate, runs
from valkey_operator.valkey.cluster_nodes import Failing, NodeLine, NodesView
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS, NO_SLOTS, Slots, slot_range, union


class NodeTruth(msgspec.Struct, frozen=True, kw_only=True):
    """One id that anybody knows. The sets hold the names of those who say so."""

    id: str
    member: str | None
    """Whose server it is, as far as that is known."""
    hostname: str | None
    role: Role | None
    primary: str | None
    epoch: int
    slots: Slots
    known_to: frozenset[str]
    failed_for: frozenset[str]
    suspected_by: frozenset[str]


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The merged view. `spoke` and `missing` are names: who told of the cluster, and who of all that should has not."""

    nodes: Mapping[str, NodeTruth]
    ids: Mapping[str, str]
    """The id of each member, by name, where it is known."""
    spoke: tuple[str, ...]
    missing: tuple[str, ...]
    dissenters: tuple[str, ...]
    """Those who see other owners than the truth."""
    disputed: Slots
    giving: Mapping[tuple[str, str], Slots]
    """Slots that a primary, by its name, gives key by key to the node of an id."""
    taking: Mapping[tuple[str, str], Slots]
    """Slots that a primary takes from it."""

    @property
    def is_partial(self) -> bool:
        """Whether somebody has not spoken; nothing is destroyed then."""
        return bool(self.missing)

    @property
    def is_agreed(self) -> bool:
        """Whether all have spoken, and say the same."""
        return not (self.missing or self.dissenters or self.disputed)

    @property
    def open_slots(self) -> Slots:
        """Slots that anybody gives or takes key by key."""
        return union((*self.giving.values(), *self.taking.values()))

    @property
    def assigned(self) -> Slots:
        """Slots that have an owner, alive or not."""
        return union(node.slots for node in self.nodes.values())

    @property
    def unassigned(self) -> Slots:
        """Slots that have none."""
        return ALL_SLOTS - self.assigned

    def truth_of(self, member: Member) -> NodeTruth | None:
        """What is true of a member."""
        return self.nodes.get(self.ids.get(member.name, ""))

    def slots_of(self, member: Member) -> Slots:
        """The slots that a member owns."""
        truth = self.truth_of(member)
        return truth.slots if truth else NO_SLOTS

    def primary_of(self, member: Member) -> NodeTruth | None:
        """Whom it follows, known or not."""
        truth = self.truth_of(member)
        return self.nodes.get(truth.primary) if truth and truth.primary else None

    def strangers(self) -> list[NodeTruth]:
        """Ids that are no member's: of a server that was, or of somebody else."""
        ours = set(self.ids.values())
        return [node for node in self.nodes.values() if node.id not in ours and node.role is not None]

    def collisions(self) -> list[list[NodeTruth]]:
        """Primaries that have the same epoch, which would leave a tie about a slot undecided."""
        by_epoch: dict[int, list[NodeTruth]] = {}
        for node in self.nodes.values():
            if node.role is Role.PRIMARY and node.member in self.spoke:
                by_epoch.setdefault(node.epoch, []).append(node)
        return [sorted(nodes, key=lambda each: each.id) for nodes in by_epoch.values() if len(nodes) > 1]


def merge_views(facts: ClusterFacts) -> ClusterView:
    """What all who run say; where nobody runs, what the files say with which they would start."""
    spoke = {each.name: each.seen for each in facts.members if each.seen is not None and runs(each)}
    voices = spoke or {each.name: each.kept for each in facts.members if each.kept is not None and is_at_gate(each)}
    nodes = _nodes(voices)
    ids = _ids(facts, voices, nodes)
    names = {node_id: name for name, node_id in ids.items()}
    nodes = {node.id: msgspec.structs.replace(node, member=names.get(node.id)) for node in nodes.values()}
    settled, disputed = _settle(nodes, voices)
    return ClusterView(
        nodes=settled,
        ids=ids,
        spoke=tuple(spoke),
        missing=tuple(each.name for each in facts.members if each.name not in spoke),
        dissenters=tuple(name for name, view in voices.items() if not _agrees(view, settled)),
        disputed=disputed,
        giving=_open_slots(voices, importing=False),
        taking=_open_slots(voices, importing=True),
    )


def _nodes(voices: Mapping[str, NodesView]) -> dict[str, NodeTruth]:
    told: dict[str, dict[str, NodeLine]] = {}
    for name, view in voices.items():
        for line in view.lines:
            told.setdefault(line.id, {})[name] = line
    return {node_id: _truth(node_id, lines) for node_id, lines in sorted(told.items())}


def _truth(node_id: str, lines: Mapping[str, NodeLine]) -> NodeTruth:
    own = next((line for line in lines.values() if line.myself), None)
    best = own or max(lines.values(), key=lambda line: (line.role is not None, line.epoch, len(line.slots)))
    return NodeTruth(
        id=node_id,
        member=None,
        hostname=next((line.hostname for line in lines.values() if line.hostname), None),
        role=best.role,
        primary=best.primary,
        epoch=best.epoch,
        slots=best.slots,
        known_to=frozenset(name for name, line in lines.items() if line.role is not None),
        failed_for=frozenset(name for name, line in lines.items() if line.failing is Failing.AGREED),
        suspected_by=frozenset(name for name, line in lines.items() if line.failing is Failing.SUSPECTED),
    )


def _ids(facts: ClusterFacts, voices: Mapping[str, NodesView], nodes: Mapping[str, NodeTruth]) -> dict[str, str]:
    """Who has which id: by its own word; of a silent one by what it announced, the most important id first."""
    ids = {name: view.myself.id for name, view in voices.items()}
    for member in facts.members:
        if member.name not in ids and member.kept is not None:
            ids[member.name] = member.kept.myself.id
    taken = set(ids.values())
    for member in facts.members:
        rest = [node for node in nodes.values() if node.hostname == member.hostname and node.id not in taken]
        if member.name not in ids and rest:
            ids[member.name] = max(rest, key=lambda node: (len(node.slots), node.epoch, node.id)).id
    return ids


def _settle(nodes: Mapping[str, NodeTruth], voices: Container[str]) -> tuple[dict[str, NodeTruth], Slots]:
    """Give each slot to the claim of the highest epoch; two who claim it themselves dispute it.

    In one epoch a member comes before an id that is nobody's: whoever was elected after a server had died with an epoch
    that few had heard of may have got the same, and these few would never believe it.
    """
    taken, claimed, disputed = NO_SLOTS, NO_SLOTS, NO_SLOTS
    settled = dict(nodes)
    for node in sorted(nodes.values(), key=lambda each: (-each.epoch, each.member is None, each.id)):
        settled[node.id] = msgspec.structs.replace(node, slots=node.slots - taken)
        taken |= node.slots
        if node.member in voices:
            disputed |= node.slots & claimed
            claimed |= node.slots
    return settled, disputed


def _agrees(view: NodesView, nodes: Mapping[str, NodeTruth]) -> bool:
    seen = {line.id: line.slots for line in view.lines if line.slots}
    return seen == {node.id: node.slots for node in nodes.values() if node.slots}


def _open_slots(voices: Mapping[str, NodesView], *, importing: bool) -> dict[tuple[str, str], Slots]:
    found: dict[tuple[str, str], Slots] = {}
    for name, view in voices.items():
        mine = view.myself.open_slots if view.myself.role is Role.PRIMARY else ()
        for each in mine:
            if each.importing is importing:
                found[name, each.peer] = found.get((name, each.peer), NO_SLOTS) | slot_range(each.slot, each.slot)
    return found
