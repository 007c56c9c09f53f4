"""How nodes of a modelled cluster come by their leave to write, and lose it.

Owns: what an agent has promised, who grants what to whom, and that a server without leave is fenced. What leave is
worth is for the agent's own licence.py, what a promise allows for its promise.py, and terms for the real planner.
Refuses to know: when a node is told of terms (cluster_operator.py).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from valkey_operator.agent.licence import NEVER, Grants, good_until
from valkey_operator.agent.promise import Promise, may_grant
from valkey_operator.core.cluster.facts import Leave
from valkey_operator.valkey.terms import Terms

if TYPE_CHECKING:
    from tests.sim.cluster_world import Node, World

FENCE_TICKS = 3


@dataclass
class Licence:
    """Of one pod: it outlives its server, and not the pod."""

    # What no agent must do, and one does where a test switches a rule off:
    obeys_any_term: ClassVar[bool] = False
    """It takes orders of leaders of before."""

    term: int = 0
    epoch: int = 0
    granted: int = 0
    terms: Terms | None = None
    peers: dict[str, float] = field(default_factory=dict)
    operator: float = NEVER
    record: float = NEVER

    def promise(self, epoch: int, *, term: int) -> bool:
        """Whether an order of that term and epoch is obeyed; leave of an older epoch counts no more."""
        if (term < self.term and not self.obeys_any_term) or epoch < self.epoch:
            return False
        self.term = term
        if epoch > self.epoch:
            self.epoch, self.peers, self.operator, self.record = epoch, {}, NEVER, NEVER
        return True

    def grants(self, epoch: int) -> bool:
        """Whether another one may write in that epoch, as far as this one is concerned."""
        granted = may_grant(Promise(epoch=self.epoch, granted=self.granted), epoch)
        self.granted = epoch if granted else self.granted
        return granted


def ask_for_leave(world: "World", node: "Node", *, leave: Leave | None, is_led: bool) -> None:
    """One round: all peers that it reaches; the leader, or the record while nobody leads, if it reaches these."""
    own = node.licence
    for name in {name for members in own.terms.sets for name in members} if own.terms else ():
        peer = world.nodes.get(name)
        if peer is not None and peer.side == node.side:
            own.peers[name] = world.tick if peer.licence.grants(own.epoch) else NEVER
    if node.side == 0 and leave is not None and leave.epoch == own.epoch and node.name not in leave.without:
        if is_led:
            own.operator = world.tick
        else:
            own.record = world.tick


def has_leave(node: "Node", tick: int) -> bool:
    """Whether its server may write, and be elected; one that was told of no terms may."""
    own = node.licence
    if own.terms is None:
        return True
    grants = Grants(replicas=own.peers, operator=own.operator, record=own.record)
    until, _ = good_until(own.terms.sets, grants, FENCE_TICKS)
    return tick < until
