"""A model of one shard: servers, disks, pods, agents at their gates, and the record. Small, and drawn from a seed.

Servers hold lists of numbers: each acknowledged write is one. They follow, resync partially or fully, and lag as Valkey
does. An agent opens its gate by the record alone, as the design says. Everything that is checked at every moment is
here: one writable primary at most, the rules of the record, and that no value is lost that must not be.

An acknowledged value must not be lost while somebody who counts holds it in memory: the primary on record, or a replica
that was listed there as promotable and has not restarted since; or the disk of a primary that was stopped on purpose,
where nobody else could take over. Whatever nobody of them holds after a fault may be lost.

Not modelled: an agent that opens by a record which changes in that very moment; the licence to write is to close that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

import msgspec

from tests.support.shards import NOW, address_of
from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.core.names import PRIMARY_ANNOTATION
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.core.shard.facts import PARKED_AT
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms

OWNER = "x"
MOST_NODES = 5
TICKS_TO_HAND_OVER = 12
FENCE_AFTER, MISSED_AFTER = 2.0, 3.0
OPERATOR = "the operator"


class BrokenRuleError(AssertionError):
    """Something happened that must never happen."""


@dataclass
class Disk:
    """A copy of the data, with its mark; `binding` where the primary was stopped on purpose and nobody took over."""

    values: tuple[int, ...]
    offset: int
    history: str
    epoch: int
    was_primary: bool
    binding: bool = False


@dataclass
class Server:
    """A process; without a role it stands at the gate. `follows` None: parked, or a primary."""

    run: int
    role: Role | None = None
    values: tuple[int, ...] = ()
    offset: int = 0
    history: str = ""
    former: str | None = None
    former_below: int = 0
    follows: str | None = None
    linked: bool = False
    whole: bool = False
    paused_until: float = 0.0

    @property
    def is_primary(self) -> bool:
        return self.role is Role.PRIMARY


@dataclass
class Pod:
    uid: str
    generation: int
    server: Server | None = None
    promised_epoch: int = 0
    terms: Terms | None = None
    mark: tuple[int, bool] = (0, False)
    """Of the copy on disk: the epoch in which it was last whole, and whether by a primary."""
    leaving_in: int | None = None
    leaves_by_plan: bool = False


@dataclass
class Place:
    """Where a node is, was or may be: its volume outlives it."""

    name: str
    index: int
    exists: bool = False
    pod: Pod | None = None
    disk: Disk | None = None
    has_volume: bool = False
    cut_off: bool = False
    isolated: bool = False
    """No other node reaches it, nor it them."""
    cordoned: bool = False
    pace: int = 3
    """How many values it takes over at once, at most."""

    @property
    def server(self) -> Server | None:
        return self.pod.server if self.pod else None


@dataclass
class World:
    """Everything, at one moment."""

    chance: Random
    persistent: bool = True
    append_only: bool = False
    """What is on disk has no offset, and its server begins to count anew."""
    replicas: int = 3
    generation: int = 1
    now: float = 0.0
    record: ValkeyShardSpec | None = None
    places: dict[str, Place] = field(default_factory=dict)
    acknowledged: int = 0
    binding: set[int] = field(default_factory=set)
    """The values that must not be lost."""
    listed_runs: dict[str, int] = field(default_factory=dict)
    wished: str | None = None
    """The node that a user wants as primary; `wish_is_met` once it was, since it is asked for."""
    wish_is_met: bool = False
    ended_pods: set[str] = field(default_factory=set)
    """Those that were seen to end; not those that vanished."""
    granted_at: dict[str, float] = field(default_factory=dict)
    """When a pod's agent let a primary write for the last time, or began."""
    leave: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a pod, as primary, got leave from a node for the last time."""
    story: list[str] = field(default_factory=list)
    _numbers: int = 0

    def __post_init__(self) -> None:
        self.places = {name: Place(name, index) for index in range(MOST_NODES) for name in [f"{OWNER}-{index}"]}

    def tell(self, sentence: str) -> None:
        self.story.append(f"{self.now:7.2f}  {sentence}")

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def servers(self) -> Iterator[tuple[Place, Server]]:
        """Those behind their gates."""
        for place in self.places.values():
            if place.server is not None and place.server.role is not None:
                yield place, place.server

    def fingerprint(self) -> object:
        """Equal ones: nothing has changed in between but the time."""
        return msgspec.json.encode((list(self.places.values()), self.record, self.replicas))

    # --- what happens by itself ---------------------------------------------------------------------------------------

    def tick(self, *, everything: bool = False) -> None:
        """Let time pass: pods, gates, links and replication, each a little, or as far as they get."""
        self.now += 0.1
        places = list(self.places.values())
        self.chance.shuffle(places)
        for place in places:
            if everything or self.chance.random() < 0.7:
                self._live(place, everything=everything)
        for place, server in self.servers():
            assert place.pod is not None
            self._mark(place.pod, server)
            if server.is_primary:
                self.granted_at[place.pod.uid] = self.now
                self.ask_for_leave(place, place.pod.terms)
        self.check()

    def ask_for_leave(self, place: Place, terms: Terms | None) -> None:
        """The agent of a primary asks its replicas'; who has promised a newer epoch, or none yet, grants nothing."""
        if place.pod is None or terms is None or place.isolated:
            return
        for name in {name for members in terms.sets for name in members}:
            asked = self.places[name]
            if (
                asked.pod is not None
                and not asked.isolated
                and 0 < asked.pod.promised_epoch <= place.pod.promised_epoch
            ):
                self.granted_at[asked.pod.uid] = self.leave[place.pod.uid, name] = self.now

    def may_write(self, place: Place) -> bool:
        """Whether the agent lets its server take writes."""
        is_primary = place.server is not None and place.server.is_primary
        return is_primary and place.pod is not None and self.has_leave(place.pod, place.pod.terms)

    def has_leave(self, pod: Pod, terms: Terms | None) -> bool:
        """By half of every set, or by the operator."""
        sets, since = terms.sets if terms is not None else (), self.now - FENCE_AFTER
        granted = {name for (uid, name), at in self.leave.items() if uid == pod.uid and at > since}
        return OPERATOR in granted or all(2 * len(granted & set(members)) >= len(members) for members in sets)

    def write(self, count: int) -> None:
        """A client writes to whoever lets it."""
        for place, server in self.servers():
            if self.may_write(place) and server.paused_until <= self.now:
                first = self.acknowledged + 1
                self.acknowledged += count
                server.values += tuple(range(first, first + count))
                server.offset += count
                if self._counts(place):
                    self.binding |= set(server.values)
                self.tell(f"{place.name} acknowledges {first} to {self.acknowledged}")

    def _live(self, place: Place, *, everything: bool) -> None:
        if place.pod is None:
            if place.exists:
                place.has_volume = place.has_volume or self.persistent
                place.pod = Pod(uid=f"pod-{self.number()}", generation=self.generation)
                self.granted_at[place.pod.uid] = self.now
            return
        if place.pod.leaving_in is not None:
            self._leave(place, place.pod)
            return
        if place.pod.server is None:
            place.pod.server = Server(run=self.number())
        elif place.pod.server.role is None:
            self._open_by_record(place, place.pod)
        elif place.pod.server.role is Role.REPLICA:
            self._replicate(place, place.pod.server, everything=everything)

    def _open_by_record(self, place: Place, pod: Pod) -> None:
        """The agent's own decision."""
        record = self.record
        if place.cut_off or record is None or record.primary is None or record.epoch < pod.promised_epoch:
            return
        if record.primary != place.name:
            self.open(place, Role.REPLICA, follows=record.primary, epoch=record.epoch)
        elif not record.promotable and record.operation is None:
            self.open(place, Role.PRIMARY, follows=None, epoch=record.epoch)

    def _replicate(self, place: Place, server: Server, *, everything: bool) -> None:
        of = self.places.get(server.follows or "")
        source = of.server if of is not None and not (of.isolated or place.isolated) else None
        if source is None or source.role is None or source is server:
            server.linked = False
            return
        if not server.linked:
            self._attach(place.name, server, source)
        missing = source.values[len(server.values) :]
        taken = missing if everything else missing[: self.chance.randint(0, place.pace)]
        if server.linked and taken:
            server.values += taken
            server.offset += len(taken)
        self._bind_replicated()

    def _attach(self, name: str, server: Server, source: Server) -> None:
        """PSYNC; whoever is a replica without a link serves nobody."""
        if not (source.is_primary or source.linked):
            return
        same = server.history == source.history and server.offset <= source.offset
        continued = server.history == source.former and server.offset <= source.former_below
        partial = same or continued
        if partial and source.values[: len(server.values)] != server.values:
            raise BrokenRuleError(f"{name} resyncs partially with data that are not of that history")
        if server.history != source.history:
            self._detach_from(name)
        if not partial:
            server.values, server.offset = source.values, source.offset
            server.former, server.former_below = None, 0
        elif server.history != source.history:
            server.former, server.former_below = server.history, server.offset
        server.history, server.linked, server.whole = source.history, True, True
        self.tell(f"{name} resyncs {'partially' if partial else 'fully'} at {server.offset}")

    def _detach_from(self, name: str) -> None:
        for _, other in self.servers():
            if other.follows == name:
                other.linked = False

    # --- what agents and servers do when told -------------------------------------------------------------------------

    def open(self, place: Place, role: Role, *, follows: str | None, epoch: int) -> None:
        pod, server, disk = place.pod, place.server, place.disk
        assert pod is not None
        assert server is not None
        assert server.role is None
        pod.promised_epoch = max(pod.promised_epoch, epoch)
        server.history = f"{self.number():040x}"
        if disk is not None:
            server.values = disk.values
        if disk is not None and not self.append_only:
            server.offset, server.history = disk.offset, disk.history
        server.role, server.follows, server.linked = role, follows, False
        self.tell(f"{place.name} starts as {role} of {follows}, with {server.values[-1:]} at {server.offset}")
        if role is Role.PRIMARY:
            server.whole = True
            self._begin_history(server)
            self._must_hold_everything(place, server)
        self.check()

    def follow(self, place: Place, primary: str | None) -> None:
        """`primary` None parks it; those who follow it stay attached and get the rest."""
        server = place.server
        assert server is not None
        if server.is_primary or server.follows != primary:
            server.role, server.follows, server.linked = Role.REPLICA, primary, False
        self.check()

    def promote(self, place: Place) -> None:
        server = place.server
        assert server is not None
        if server.is_primary:
            return
        server.role, server.follows, server.linked, server.whole = Role.PRIMARY, None, False, True
        self._begin_history(server)
        self._detach_from(place.name)
        self._must_hold_everything(place, server)
        self.tell(f"{place.name} is promoted at {server.offset}")
        self.check()

    def _begin_history(self, server: Server) -> None:
        server.former, server.former_below = server.history, server.offset
        server.history = f"{self.number():040x}"

    def save(self, place: Place) -> None:
        """A snapshot, marked as the agent does: only what is whole is a copy."""
        server = place.server
        if server is None or place.pod is None or not server.whole:
            return
        self._mark(place.pod, server)
        epoch, was_primary = place.pod.mark
        place.disk = Disk(server.values, server.offset, server.history, epoch, was_primary=was_primary)

    def _mark(self, pod: Pod, server: Server) -> None:
        """One that is parked is of the epoch before."""
        if server.is_primary or server.linked:
            pod.mark = (pod.promised_epoch, server.is_primary)

    # --- ends ---------------------------------------------------------------------------------------------------------

    def kill(self, place: Place, *, with_pod: bool = False, with_disk: bool = False) -> None:
        """Without notice; what was in memory is gone."""
        if place.pod is None:
            return
        self.tell(f"{place.name} is killed{', pod' if with_pod else ''}{', disk' if with_disk else ''}")
        place.pod.server = None
        if with_pod:
            place.pod = None
        if with_disk or (with_pod and not self.persistent):
            place.disk = None
        self._after_an_end(place)

    def stop(self, place: Place, *, by_plan: bool) -> None:
        """Tell a pod to leave, in order."""
        if place.pod is not None and place.pod.leaving_in is None:
            place.pod.leaving_in = TICKS_TO_HAND_OVER
            place.pod.leaves_by_plan = by_plan and self.replicas > 0 and self.persistent and self._serves()
            self.tell(f"{place.name} is told to stop")

    def _leave(self, place: Place, pod: Pod) -> None:
        """A primary waits a while for somebody to take over; whoever ends feeds its replicas to the end, and saves."""
        assert pod.leaving_in is not None
        server = pod.server
        pod.leaving_in -= 1
        hands_over = self.replicas > 0 and pod.leaving_in > 0
        if server is not None and server.role is Role.REPLICA and server.linked:
            self._replicate(place, server, everything=True)
        if server is not None and server.is_primary and hands_over:
            return
        for replica, other in list(self.servers()):
            if other.follows == place.name and other.linked:
                self._replicate(replica, other, everything=True)
        self._save_at_the_end(place, server)
        self.ended_pods.add(pod.uid)
        place.pod = None
        self.tell(f"{place.name} has stopped")
        self._after_an_end(place, by_plan=pod.leaves_by_plan)

    def _save_at_the_end(self, place: Place, server: Server | None) -> None:
        if not self.persistent:
            place.disk = None
            return
        self.save(place)
        # A replica that was cut off when the shard was suspended, and outlives that, is preferred to any disk.
        cut = any(self.places[name].isolated for name in (place.name, *self.listed_runs))
        nobody_else = (self.replicas == 0 and not cut) or self.record is None or not self.record.promotable
        on_record = self.record is None or self.record.primary == place.name
        if server is not None and server.is_primary and place.disk is not None and on_record and nobody_else:
            place.disk.binding = True
            self.binding |= set(server.values)

    def _after_an_end(self, place: Place, *, by_plan: bool = False) -> None:
        self._detach_from(place.name)
        held = self._held()
        if by_plan and not self.binding <= held:
            raise BrokenRuleError(f"stopping {place.name} as planned lost {sorted(self.binding - held)}")
        if not by_plan:
            self._excuse_plans()
        self.binding &= held
        self.check()

    def _excuse_plans(self) -> None:
        """No plan could have known: who leaves already is not the last one by intention."""
        for place in self.places.values():
            if place.pod is not None:
                place.pod.leaves_by_plan = False

    # --- what must hold -----------------------------------------------------------------------------------------------

    def swap(self, seen: ValkeyShardSpec | None, new: ValkeyShardSpec) -> None:
        """Compare and swap, under the rules that the API server holds."""
        if self.record is not seen:
            raise BrokenRuleError("there is but one writer in this model")
        if seen is not None:
            if new.epoch < seen.epoch or (new.primary != seen.primary and new.epoch <= seen.epoch):
                raise BrokenRuleError(f"the API server refuses epoch {new.epoch} of {new.primary} after {seen}")
            if (new.owner, new.index) != (seen.owner, seen.index):
                raise BrokenRuleError("the record of another shard")
        began = new.operation if seen is None or seen.operation is None else None
        if self.wish_is_met and began is not None and PRIMARY_ANNOTATION in (began.reason or ""):
            raise BrokenRuleError(f"the wish for {self.wished} was met, and shall be met again")
        self.record = new
        self.wish_is_met = self.wish_is_met or (new.primary == self.wished and new.pending is None)
        listed = new.promotable or []
        runs = {name: server.run for name in listed if (server := self.places[name].server) is not None}
        self.listed_runs = {name: self.listed_runs.get(name, run) for name, run in runs.items()}
        if seen is not None and seen.primary == new.primary:
            # A primary that has just died unseen: nobody could have known.
            self.binding &= self._held()
        if seen is not None and seen.pending is not None and new.pending is None:
            # Who could not be reached, the former primary too, was waited for and then left behind.
            self.binding &= self._held(reached=True)
        self._bind_replicated()
        under_way = (new.operation and "switchover") or (new.pending and f"failover: {new.pending.reason}")
        self.tell(f"the record: {new.primary}, epoch {new.epoch}, then {listed}, {under_way}")

    def check(self) -> None:
        writable = [place.name for place, _ in self.servers() if self.may_write(place)]
        if len(writable) > 1:
            raise BrokenRuleError(f"{' and '.join(writable)} both take writes")

    def _bind_replicated(self) -> None:
        """What a listed replica has must not be lost any more."""
        for name in self.listed_runs:
            if self._counts(self.places[name]):
                server = self.places[name].server
                assert server is not None
                self.binding |= set(server.values)

    def _counts(self, place: Place) -> bool:
        server, record = place.server, self.record
        if server is None or server.role is None or record is None or not server.whole:
            return False
        return record.primary == place.name or self.listed_runs.get(place.name) == server.run

    def _serves(self) -> bool:
        return any(server.is_primary for _, server in self.servers())

    def _held(self, *, reached: bool = False) -> set[int]:
        places = [place for place in self.places.values() if not (reached and place.cut_off)]
        return {value for values in self._copies_that_count(places) for value in values}

    def _copies_that_count(self, places: Iterable[Place]) -> Iterator[tuple[int, ...]]:
        for place in places:
            if place.server is not None and self._counts(place):
                yield place.server.values
            if place.disk is not None and place.disk.binding:
                yield place.disk.values

    def _must_hold_everything(self, place: Place, server: Server) -> None:
        lost = self.binding - set(server.values)
        if lost:
            raise BrokenRuleError(f"{place.name} becomes primary without {sorted(lost)}")
        for other in self.places.values():
            if other.disk is not None:
                other.disk.binding = False

    # --- how it looks from outside ------------------------------------------------------------------------------------

    def report(self, place: Place) -> NodeView:
        """What the agent of a place says at this moment."""
        pod, server, disk = place.pod, place.server, place.disk
        assert pod is not None
        view = NodeView(
            pod_uid=pod.uid,
            boot_id=pod.uid,
            seq=1,
            process=ProcessState.GONE if server is None else ProcessState.WAITING,
            copy=CopyView() if disk is None else self._describe(disk),
            promised_epoch=pod.promised_epoch,
            terms=pod.terms,
            leaving=pod.leaving_in is not None,
            misses_primary=self.now - self.granted_at[pod.uid] > MISSED_AFTER and not (server and server.is_primary),
        )
        if server is None or server.role is None:
            return view
        primary = PARKED_AT if server.follows is None else address_of(server.follows)
        return msgspec.structs.replace(
            view,
            process=ProcessState.RUNNING,
            health=Health.ANSWERS,
            role=server.role,
            replication_id=server.history,
            offset=server.offset,
            former_replication_id=server.former,
            former_id_valid_below=server.former_below,
            link=None if server.is_primary else LinkView(primary=primary, up=server.linked),
            whole=server.whole,
            fenced=False,
        )

    def _describe(self, disk: Disk) -> CopyView:
        offset = 0 if self.append_only else disk.offset
        aof = self.append_only
        return CopyView(rdb=not aof, aof=aof, epoch=disk.epoch, was_primary=disk.was_primary, offset=offset)


def first_record(*, with_volumes: bool) -> ValkeyShardSpec:
    """As the operator makes it: a shard whose volumes are older than its record has no primary yet."""
    owner = ShardOwner(kind="Valkey", name=OWNER)
    if with_volumes:
        return ValkeyShardSpec(owner=owner, index=0, epoch=0)
    return ValkeyShardSpec(owner=owner, index=0, epoch=1, primary=f"{OWNER}-0")


__all__ = ["MOST_NODES", "NOW", "OWNER", "BrokenRuleError", "Place", "Pod", "Server", "World", "first_record"]
