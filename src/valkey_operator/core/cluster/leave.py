"""Leave to write in a cluster: on which terms each node has it, and what proves that one has it no more.

Owns: who the witnesses are, the terms, and the count of promises. Refuses to know: when the record changes
(epochs.py), how leave is asked for and what is done without (agent/fence.py), and time passing (controllers).

A node needs the leave of more than half of the witnesses, itself among them if it is one. Whoever replaces it needs
half of them to have promised a newer epoch: they give no leave in an older one, so fewer than needed are left. Of an
even number each side of a cut may have half: then nobody writes on the side without the operator.
"""

from collections.abc import Collection, Iterable

from valkey_operator.core.cluster.facts import ClusterFacts, Leave, Member
from valkey_operator.core.names import node_name
from valkey_operator.valkey.terms import Sets, Terms

MOST_WITNESSES = 7
FENCE_AFTER_MS = 2500
"""The longest. Others are asked 2.5 times meanwhile (agent/fence.py), so that a lost answer costs nobody its leave."""
SHORTEST_FENCE_AFTER_MS = 500
FENCED_BEFORE_MS = 500
"""As long before the servers take anybody for failed: a side that is cut off elects nobody while it has leave."""
MISSED_AFTER_MS = 3000
RUNS_OUT_AFTER_S = FENCE_AFTER_MS / 1000 * 1.01 + 0.7
"""A little more than leave ever lasts: clocks differ in their pace, and a fence takes its time (agent/fence.py)."""


def witnesses_of(cluster: str, shards: int, replicas: int) -> tuple[str, ...]:
    """All nodes that are asked for, if they are few; else as many as suffice, spread over the shards."""
    chosen: list[tuple[int, int]] = []
    for index in range(replicas):
        left = min(MOST_WITNESSES - len(chosen), shards)
        chosen += [(number * shards // left, index) for number in range(left)]
    return tuple(node_name(node_name(cluster, shard), index) for shard, index in sorted(chosen))


def fence_after_ms(node_timeout_s: float) -> int:
    """How long leave lasts: less than it takes the servers to elect somebody. A shorter timeout is refused."""
    return max(SHORTEST_FENCE_AFTER_MS, min(FENCE_AFTER_MS, round(node_timeout_s * 1000) - FENCED_BEFORE_MS))


def terms_of(facts: ClusterFacts, leave: Leave, node: str) -> Terms:
    """On which terms a node takes writes and may be elected."""
    return Terms(
        sets=_sets_for(node, leave.witnesses),
        fence_after_ms=fence_after_ms(facts.node_timeout_s),
        missed_after_ms=MISSED_AFTER_MS,
        least_replicas=facts.least_replicas,
        elected=True,
    )


def can_be_kept(facts: ClusterFacts, leave: Leave) -> bool:
    """Whether nodes may be bound: by peers that do not answer they would depend on the operator alone."""
    views = (each.view for each in facts.members)
    return leave.kept or all(view is None or view.keeps_terms for view in views)


def is_told(facts: ClusterFacts, leave: Leave, member: Member) -> bool:
    """Whether a member was heard to be bound by the present terms, in the present epoch."""
    view = member.view
    return view is not None and view.promised_epoch >= leave.epoch and view.terms == terms_of(facts, leave, member.name)


def is_run_out(leave: Leave, members: Iterable[Member]) -> bool:
    """Whether nobody gets leave in an older epoch any more; what was given lasts a while."""
    promised = {each.name for each in members if each.view is not None and each.view.promised_epoch >= leave.epoch}
    groups = [each for each in (leave.witnesses, leave.former) if each]
    return leave.kept and all(_is_half(promised, group) for group in groups)


def _is_half(promised: Collection[str], group: Collection[str]) -> bool:
    return 2 * sum(name in promised for name in group) >= len(group)


def _sets_for(node: str, witnesses: tuple[str, ...]) -> Sets:
    """Half of each set is more than half of the witnesses: a witness counts itself.

    For others an odd number has no exact half. Of an even number half of each set that lacks another one is half of
    all, and one more.
    """
    others = tuple(sorted(each for each in witnesses if each != node))
    if node in witnesses or len(others) % 2:
        return (others,)
    return tuple(tuple(each for each in others if each != left_out) for left_out in others)
