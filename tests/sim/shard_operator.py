"""The operators of the model: who leads, and who still believes to.

A leader may be dropped in the middle of its work (a crash), or set aside and gone on with while another one leads (a
pause). Owns: terms and the lease. Refuses to know: what a leader does, and what strikes between two of its acts.
"""

from collections.abc import Callable

from tests.sim.shard_leader import Leader, Work
from tests.sim.shard_model import World
from tests.sim.shard_orders import NotObeyed


class Crashed(Exception):  # noqa: N818 - what happens, not a mistake
    """The operator is gone in the middle of its work."""


class Paused(Exception):  # noqa: N818 - what happens, not a mistake
    """It stands still in the middle of its work, and does not know that."""


class Operator:
    """Who leads at this moment, and who believes to. `between` is called around every act, and may do harm."""

    def __init__(self, world: World, between: Callable[[], None] = lambda: None) -> None:
        self._world = world
        self._between = between
        self._term = 0
        self.leader: Leader | None = None
        self.sleepers: list[tuple[Leader, Work]] = []
        world.leave.ask_operator = self._lets_write
        self.elect()

    def _lets_write(self, node: str, epoch: int, uid: str) -> bool:
        return self.leader is not None and self.leader.lets_write(node, epoch, uid)

    def elect(self) -> None:
        """Somebody leads, if that is possible."""
        lease = self._world.leave.lease
        if self.leader is None and lease.is_free(self._world.now):
            self._term += 1
            self.leader = Leader(self._world, self._term)
            self._world.tell(f"term {self._term} begins")
        self.renew()

    def renew(self) -> None:
        if self.leader is not None:
            self._world.leave.lease.renew(self.leader.term, self._world.now)

    def resign(self, *, politely: bool) -> None:
        """It leads no more; the lease runs out, unless it was given away."""
        if self.leader is not None and politely:
            self._world.leave.lease.renew(None, self._world.now)
        self.leader = None

    def reconcile(self) -> None:
        """All that the leader does at once."""
        self.elect()
        if self.leader is not None:
            self._go_on(self.leader, self.leader.work())

    def wake(self, number: int, acts: int | None = None) -> None:
        """One who was paused goes on with its plan, of its old term."""
        leader, work = self.sleepers.pop(number)
        self._world.tell(f"the leader of term {leader.term} wakes up")
        leader.in_office = False
        while self._act(work) and acts != 0:
            acts = None if acts is None else acts - 1

    def _go_on(self, leader: Leader, work: Work) -> None:
        try:
            while self._act(work):
                self._between()
                self.renew()
        except Crashed:
            self._world.tell(f"the leader of term {leader.term} crashes")
            self.resign(politely=False)
        except Paused:
            self._world.tell(f"the leader of term {leader.term} is paused")
            self.sleepers.append((leader, work))
            self.resign(politely=False)

    def _act(self, work: Work) -> bool:
        """Go on to the next act; whether there is one."""
        try:
            next(work)
        except StopIteration:
            return False
        except NotObeyed as problem:
            self._world.tell(f"not obeyed: {problem}")
            return False
        return True
