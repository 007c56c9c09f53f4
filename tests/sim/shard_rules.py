"""What must hold in the model at every moment: one writer, the rules of the record, and that nothing is lost.

An acknowledged value must not be lost while somebody who counts holds it in memory: the primary on record, or a replica
that was listed there as promotable and has not restarted since; or the disk of a primary that was stopped on purpose,
where nobody else could take over. Whatever nobody of them holds after a fault may be lost, and what only those held who
were silent when a change that was announced came to its end.

With Quorum a value that was confirmed by WAIT is lost only with the memory of all who had it, silent or not; a pod that
somebody deleted by force was given up by that.
Owns: these rules. Refuses to know: how anything came to be.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from tests.sim.shard_agents import FIRST_LOOK_AFTER
from tests.sim.shard_pods import Place, Pod
from tests.sim.shard_servers import LAG_LASTS, BrokenRuleError, Server
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.names import PRIMARY_ANNOTATION


class Watched(Protocol):
    """What the rules look at."""

    now: float
    record: ValkeyShardSpec | None
    places: dict[str, Place]
    replicas: int
    durability: str
    least_confirmations: int
    wished: str | None

    def pods(self) -> Iterator[Pod]: ...
    def takes_writes(self, pod: Pod) -> bool: ...


class Rules:
    """Of one world."""

    def __init__(self, world: Watched) -> None:
        self._world = world
        self.binding: set[int] = set()
        """The values that must not be lost."""
        self.confirmed: set[int] = set()
        """Of those that a client confirmed, with Quorum, the ones that somebody has in memory."""
        self.listed_runs: dict[str, int] = {}
        self.wish_is_met = False
        self.excuses = 0
        """How often something happened that no plan could have known."""
        self._forked = False
        self._chosen: dict[int, str | None] = {}
        self._promised: dict[str, int] = {}
        self._haunted_at = -LAG_LASTS

    # --- writers ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """No two take writes while agents run; without one, Quorum's servers refuse by themselves. A cache may."""
        world = self._world
        writers = [pod for pod in world.pods() if world.takes_writes(pod)]
        self._forked = self._forked or len(writers) > 1
        writable = [pod for pod in writers if self._is_held(pod)]
        if len(writable) > 1 and world.durability != "Cache":
            raise BrokenRuleError(f"{' and '.join(f'{pod.node} ({pod.uid})' for pod in writable)} both take writes")
        for pod in world.pods():
            promised = pod.agent.promise.epoch
            if promised < self._promised.get(pod.uid, 0):
                raise BrokenRuleError(f"{pod.node} forgot that it has promised epoch {self._promised[pod.uid]}")
            self._promised[pod.uid] = promised

    def _is_held(self, pod: Pod) -> bool:
        """Whether something keeps it from writing on: who was alone needs nobody's leave, and may become a ghost."""
        has_agent = pod.agent.runs and self._world.now - pod.agent.began >= FIRST_LOOK_AFTER
        # The ghost of a replica is counted by a server, and for a while after its end.
        if any(each.is_ghost for each in self._world.pods()):
            self._haunted_at = self._world.now
        refuses = self._world.durability == "Quorum" and self._world.now > self._haunted_at + LAG_LASTS
        return not pod.was_alone and (has_agent or refuses)

    def becomes_primary(self, pod: Pod, server: Server) -> None:
        """Of one node in an epoch, the one that was chosen for it, with everything that must not be lost."""
        epoch = pod.agent.promise.epoch
        if self._chosen.get(epoch) != pod.node:
            raise BrokenRuleError(f"{pod.node} becomes primary in epoch {epoch}, which is of {self._chosen.get(epoch)}")
        if pod.is_ghost or self._is_outlived(pod):
            return  # it was given up, and obeys what it was told before that
        if self._forked:
            # Two took writes where nothing kept one from it: a cache, or no agent. What either had may be lost.
            self.binding, self._forked = self.binding & set(server.values), False
        must = self.binding | self.confirmed
        if lost := must - set(server.values):
            confirmed = ", confirmed ones among them" if lost & self.confirmed else ""
            raise BrokenRuleError(f"{pod.node} becomes primary without {sorted(lost)}{confirmed}")
        self._release_disks()

    def _is_outlived(self, pod: Pod) -> bool:
        """Whether others are of a newer epoch, and nothing keeps it from what it was told: no agent, or a cache."""
        record, is_free = self._world.record, not pod.agent.runs or self._world.durability == "Cache"
        return is_free and record is not None and pod.agent.promise.epoch < record.epoch

    def _release_disks(self) -> None:
        """Somebody has all that was kept on purpose."""
        for place in self._world.places.values():
            if place.disk is not None:
                place.disk.binding = False

    # --- values -------------------------------------------------------------------------------------------------------

    def acknowledged(self, pod: Pod, server: Server) -> None:
        if self._counts(pod):
            self.binding |= set(server.values)

    def replicated(self) -> None:
        """What a listed replica has must not be lost any more; what enough of them have is confirmed."""
        world = self._world
        for name in self.listed_runs:
            pod = world.places[name].pod
            if pod is not None and pod.server is not None and self._counts(pod):
                self.binding |= set(pod.server.values)
        if world.durability == "Quorum":
            for pod in world.pods():
                if pod.server is not None and pod.server.is_primary and not pod.was_alone:
                    self._confirm(pod.server)

    def _confirm(self, primary: Server) -> None:
        """WAIT, by replicas on record; that Valkey counts whoever else is attached is not the planner's to mend."""
        listed = set(self._world.record.promotable or ()) if self._world.record else set()
        following = [
            len(pod.server.values)
            for pod in self._world.pods()
            if pod.server is not None and pod.server.source is primary and pod.node in listed and not pod.is_ghost
        ]
        least = self._world.least_confirmations
        if len(following) >= least:
            self.confirmed |= set(primary.values[: sorted(following, reverse=True)[least - 1]])

    def ended(self, node: str, *, by_plan: bool) -> None:
        """A server is no more."""
        held = self._held()
        if by_plan and not self.binding <= held:
            raise BrokenRuleError(f"stopping {node} as planned lost {sorted(self.binding - held)}")
        if not by_plan:
            self.excuse_plans()
        self.binding &= held
        self.confirmed &= held

    def is_last_copy(self, place: Place, server: Server | None) -> bool:
        """Whether a primary that was stopped on purpose leaves what must not be lost on its disk."""
        world, record = self._world, self._world.record
        # A replica that was cut off when the shard was suspended, and outlives that, is preferred to any disk.
        others = [other.server for other in world.places.values() if other is not place and other.server is not None]
        cut = place.machine.is_cut or any(other.whole and other.source is not server for other in others)
        nobody_else = (world.replicas == 0 and not cut) or record is None or not record.promotable
        on_record = record is None or record.primary == place.name
        return server is not None and server.is_primary and on_record and nobody_else

    def excuse_plans(self) -> None:
        """No plan could have known: who leaves already is not the last one by intention."""
        self.excuses += 1
        for pod in self._world.pods():
            pod.leaves_by_plan = False

    def _counts(self, pod: Pod) -> bool:
        server, record = pod.server, self._world.record
        if server is None or server.role is None or record is None or not server.whole or pod.is_ghost:
            return False
        return record.primary == pod.node or self.listed_runs.get(pod.node) == server.run

    def _held(self, *, reached: bool = False) -> set[int]:
        places = [place for place in self._world.places.values() if not (reached and _is_silent(place))]
        return {value for values in self._copies_that_count(places) for value in values}

    def _copies_that_count(self, places: Iterable[Place]) -> Iterator[tuple[int, ...]]:
        for place in places:
            if place.pod is not None and place.pod.server is not None and self._counts(place.pod):
                yield place.pod.server.values
            if place.disk is not None and place.disk.binding:
                yield place.disk.values

    # --- the record ---------------------------------------------------------------------------------------------------

    def check_swap(self, seen: ValkeyShardSpec | None, new: ValkeyShardSpec) -> None:
        """What the API server would refuse."""
        if seen is not None:
            if new.epoch < seen.epoch or (new.primary != seen.primary and new.epoch <= seen.epoch):
                raise BrokenRuleError(f"the API server refuses epoch {new.epoch} of {new.primary} after {seen}")
            if (new.owner, new.index) != (seen.owner, seen.index):
                raise BrokenRuleError("the record of another shard")
        if new.pending is not None and new.pending.epoch <= new.epoch:
            raise BrokenRuleError(f"epoch {new.pending.epoch} is announced in epoch {new.epoch}")
        began = new.operation if seen is None or seen.operation is None else None
        if self.wish_is_met and began is not None and PRIMARY_ANNOTATION in (began.reason or ""):
            raise BrokenRuleError(f"the wish for {self._world.wished} was met, and shall be met again")

    def swapped(self, seen: ValkeyShardSpec | None, new: ValkeyShardSpec, *, wished: str | None) -> None:
        """The record has changed: other nodes count."""
        self._chosen[new.epoch] = new.primary
        is_chosen = seen is None or seen.primary != new.primary
        is_met = is_chosen and new.primary == wished == self._world.wished
        is_noted = self._world.wished is not None and self._world.wished == new.wish_met
        self.wish_is_met = self.wish_is_met or is_met or is_noted
        runs = {name: server.run for name in new.promotable or [] if (server := self._world.places[name].server)}
        # Who is listed beside a new primary was looked at for that; who stays listed may have restarted unseen.
        before = self.listed_runs if seen is not None and seen.primary == new.primary else {}
        self.listed_runs = {name: before.get(name, run) for name, run in runs.items()}
        chosen = (
            self._world.places[new.primary].server if new.primary and new.epoch > (seen.epoch if seen else 0) else None
        )
        if chosen is not None and self.binding <= set(chosen.values):
            self._release_disks()
        for pod in self._world.pods():
            pod.was_alone = pod.was_alone or (pod.is_ghost and pod.node == new.primary and not new.promotable)
        if seen is not None and seen.primary == new.primary:
            # A primary that has just died unseen: nobody could have known.
            self.binding &= self._held()
            self.confirmed &= self._held()
        if seen is not None and seen.pending is not None and new.pending is None:
            # Who could not be reached, the former primary too, was waited for and then left behind.
            self.binding &= self._held(reached=True)
        self.replicated()

    def check_removal(self, place: Place) -> None:
        """A node goes: never the primary, nor one that was counted on."""
        record = self._world.record
        if self._world.replicas and record and place.name in (record.primary, *(record.promotable or ())):
            raise BrokenRuleError(f"{place.name} is removed, and on record")


def _is_silent(place: Place) -> bool:
    pod = place.pod
    return place.machine.off_operator or pod is None or not pod.agent.runs or bool(pod.server and pod.server.hung)
