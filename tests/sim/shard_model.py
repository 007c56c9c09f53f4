"""A model of one shard: what happens by itself while time passes, and how things end. Small, and drawn from a seed.

Owns: the life of pods, gates and ghosts. The state, and what servers do when told: shard_ground.py.
Refuses to know: the operator (shard_operator.py), and what strikes when (shard_chaos.py).
"""

from dataclasses import dataclass

import msgspec

from tests.sim.shard_agents import Agent, Machine, as_read
from tests.sim.shard_ground import MOST_NODES, OWNER, Ground
from tests.sim.shard_pods import Place, Pod
from tests.sim.shard_servers import BrokenRuleError, Server
from tests.support.shards import NOW
from valkey_operator.agent.promise import given_by_start
from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.info import Role

TICK = 0.25
TICKS_TO_HAND_OVER = 12
TICKS_TO_FIND_A_GHOST = 8
FENCE_AFTER, MISSED_AFTER = 2.0, 3.0


@dataclass(eq=False)
class World(Ground):
    """Everything, as it goes on."""

    # --- what happens by itself ---------------------------------------------------------------------------------------

    def tick(self, *, everything: bool = False) -> None:
        """Let time pass: pods, gates, links and replication, each a little, or as far as they get."""
        self.now += TICK
        places = list(self.places.values())
        self.chance.shuffle(places)
        for place in places:
            if everything or self.chance.random() < 0.7:
                self._live(place, everything=everything)
        for ghost in list(self.ghosts):
            self._haunt(ghost)
        for pod in self.pods():
            self.do_what_it_was_told(pod)
            if pod.agent.runs:
                self._beat(pod)
        self.rules.replicated()
        self.rules.check()

    def do_what_it_was_told(self, pod: Pod) -> None:
        """A server that is awake again does what it was told meanwhile."""
        server = pod.server
        if server is not None and not server.hung:
            late, server.late = server.late, []
            for command in late:
                self.tell(f"{pod.node} ({pod.uid}) does what it was told while it hung")
                command()

    def _beat(self, pod: Pod) -> None:
        self.leave.beat(pod, self.now)
        server, agent = pod.server, pod.agent
        if server is None:
            return
        agent.settle(server, self.now)
        if agent.must_end(server, self.now):
            self.tell(f"{pod.node} does not confirm its fence")
            self.end_server(pod)
            return
        self.mark(pod, server)

    def _live(self, place: Place, *, everything: bool) -> None:
        pod = place.pod
        if pod is None:
            if place.exists:
                place.has_volume = place.has_volume or self.persistent
                agent = Agent(place.machine, began=self.now)
                place.pod = Pod(f"pod-{self.number()}", place.name, self.generation, agent)
        elif pod.leaving_in is not None:
            self._leave(place, pod)
        elif pod.server is None:
            pod.server = Server(run=self.number())
        elif pod.server.role is None:
            self._open_by_record(place, pod)
        else:
            self.replicate(pod, everything=everything)

    def _haunt(self, ghost: Pod) -> None:
        """It goes on where it is; once its machine is back it is found and ended."""
        self.replicate(ghost, everything=False)
        if ghost.ends_in is None:
            ghost.ends_in = None if ghost.agent.machine.is_cut else self.chance.randint(1, TICKS_TO_FIND_A_GHOST)
            return
        ghost.ends_in -= 1
        if ghost.ends_in == 1:
            self.end_server(ghost)
        if ghost.ends_in <= 0:
            self.tell(f"the ghost {ghost.uid} of {ghost.node} is gone")
            self.ghosts.remove(ghost)
            ghost.agent.alive = False

    def _open_by_record(self, place: Place, pod: Pod) -> None:
        """The agent's own decision; what it has read may be a little old."""
        agent = pod.agent
        if not agent.runs:
            return
        decision = agent.decide_start(place.name, self.now)
        if decision is None or decision.kind is None or self.chance.random() < 0.5:
            if not agent.machine.off_api and self.record is not None:
                agent.read = (as_read(self.record), self.now)
            decision = agent.decide_start(place.name, self.now)
        if decision is None or decision.kind is None or self.chance.random() < 0.3 or agent.read is None:
            return
        is_primary = decision.kind is StartKind.WRITABLE_PRIMARY
        if is_primary and any(agent.terms.sets) and not self.leave.starts_against_terms:
            return
        given = given_by_start(decision.kind)
        kept = msgspec.structs.replace(
            agent.promise, epoch=agent.read[0].epoch, given=given, terms=None, alone=is_primary
        )
        agent.keep(kept, None, self.now)
        agent.read = None
        self.open(pod, Role.PRIMARY if is_primary else Role.REPLICA, follows=decision.primary)

    # --- ends ---------------------------------------------------------------------------------------------------------

    def end_server(self, pod: Pod) -> None:
        """Without notice; what was in memory is gone."""
        if pod.server is not None:
            self.notice_cuts(pod, pod.server)
            pod.server.hang_up()
            self.detach_from(pod.server)
        pod.server = None
        self.rules.ended(pod.node, by_plan=False)
        self.rules.check()

    def kill(self, place: Place, *, with_pod: bool = False, with_disk: bool = False) -> None:
        pod = place.pod
        if pod is None:
            return
        self.tell(f"{place.name} is killed{', pod' if with_pod else ''}{', disk' if with_disk else ''}")
        if with_disk or (with_pod and not self.persistent):
            place.disk = None
        if with_pod:
            place.pod, pod.agent.alive = None, False
        self.end_server(pod)

    def kill_agent(self, pod: Pod) -> None:
        """The server beside it runs on, with its fence where it is."""
        pod.agent.settle(pod.server, self.now)
        pod.agent.alive = False
        self.tell(f"the agent of {pod.node} ({pod.uid}) is killed")

    def force_delete(self, place: Place) -> None:
        """Its object is gone at once; a new pod comes on another machine, and all of the old one runs on."""
        pod = place.pod
        if pod is None or pod.leaving_in is not None:
            return
        self.tell(f"{place.name} ({pod.uid}) is deleted by force; its server runs on")
        pod.is_ghost, pod.leaves_by_plan, place.pod = True, False, None
        pod.agent.haunts = True
        record = self.record
        pod.was_alone = record is None or (record.primary == place.name and not record.promotable)
        place.machine = Machine()
        if not self.persistent:
            place.disk = None
        self.ghosts.append(pod)
        self.rules.ended(place.name, by_plan=False)

    def stop(self, place: Place, *, by_plan: bool) -> None:
        """Tell a pod to leave, in order."""
        if place.pod is not None and place.pod.leaving_in is None:
            servers = [pod.server for pod in self.pods() if pod.server is not None and not pod.is_ghost]
            serves = any(each.is_primary for each in servers) and not any(each.hung for each in servers)
            place.pod.leaving_in = TICKS_TO_HAND_OVER
            place.pod.leaves_by_plan = by_plan and self.replicas > 0 and self.persistent and serves
            self.tell(f"{place.name} is told to stop")

    def _leave(self, place: Place, pod: Pod) -> None:
        """A primary waits a while for somebody to take over; whoever ends feeds its replicas to the end, and saves."""
        assert pod.leaving_in is not None
        server = pod.server
        pod.leaving_in -= 1
        hands_over = self.replicas > 0 and pod.leaving_in > 0
        if server is not None and server.linked:
            self.replicate(pod, everything=True)
        if server is not None and server.is_primary and hands_over:
            return
        for other in list(self.pods()):
            if server is not None and other.server is not None and other.server.source is server:
                self.replicate(other, everything=True)
        self._save_at_the_end(place, server)
        self.ended_pods.add(pod.uid)
        place.pod, pod.agent.alive = None, False
        self.tell(f"{place.name} has stopped")
        if server is not None:
            self.notice_cuts(pod, server)
            server.hang_up()
            self.detach_from(server)
        self.rules.ended(place.name, by_plan=pod.leaves_by_plan)
        self.rules.check()

    def _save_at_the_end(self, place: Place, server: Server | None) -> None:
        if not self.persistent:
            place.disk = None
            return
        self.save(place)
        if place.disk is not None and server is not None and self.rules.is_last_copy(place, server):
            place.disk.binding = True
            self.rules.binding |= set(server.values)


def first_record(*, with_volumes: bool) -> ValkeyShardSpec:
    """As the operator makes it: a shard whose volumes are older than its record has no primary yet."""
    owner = ShardOwner(kind="Valkey", name=OWNER)
    if with_volumes:
        return ValkeyShardSpec(owner=owner, index=0, epoch=0)
    return ValkeyShardSpec(owner=owner, index=0, epoch=1, primary=f"{OWNER}-0")


__all__ = ["MOST_NODES", "NOW", "OWNER", "BrokenRuleError", "Place", "Pod", "Server", "World", "first_record"]
