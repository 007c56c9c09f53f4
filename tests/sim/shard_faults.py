"""What strikes a shard of the model, and how it passes.

Owns: the faults. Refuses to know: when one strikes (shard_chaos.py), and what must hold all the same.
"""

from collections.abc import Sequence

from tests.sim.shard_agents import Machine
from tests.sim.shard_model import Place, Pod, World

FAULTS = ("process", "pod", "disk", "network", "zone", "ghost", "agent", "hang")
CUTS = ("network", "zone", "ghost", "agent")
"""Of these most leave a primary alive that nobody sees."""


class Faults:
    """Of the kinds that one life has."""

    def __init__(self, world: World, kinds: Sequence[str]) -> None:
        self._world = world
        self._kinds = kinds
        self._zones = 0
        self._passing = world.chance.choice([0.0, 0.01, 0.05])
        """How likely a fault passes at one look."""

    def strike(self, place: Place) -> None:
        if not self._kinds:
            return
        world, pod = self._world, place.pod
        match world.chance.choice(self._kinds):
            case "process":
                world.kill(place)
            case "pod":
                world.kill(place, with_pod=True)
            case "disk":
                world.kill(place, with_pod=True, with_disk=True)
            case "network":
                self._cut(place.machine)
            case "zone":
                self._cut_together(place, world.chance.choice([*world.places.values()]))
            case "ghost":
                self._make_ghost(place)
            case "agent" if pod is not None and pod.leaving_in is None:
                world.kill_agent(pod)
            case "hang" if pod is not None and pod.server is not None and pod.leaving_in is None:
                pod.server.hung = pod.server.role is not None
                world.rules.excuse_plans()
                world.tell(f"the server of {place.name} hangs")

    def _cut(self, machine: Machine) -> None:
        chance = self._world.chance
        machine.off_operator, machine.off_api = chance.random() < 0.7, chance.random() < 0.6
        is_apart = not machine.off_operator or chance.random() < 0.7
        machine.zone = self._new_zone() if is_apart else 0
        self._world.rules.excuse_plans()
        self._world.tell(f"a machine is cut off: {machine}")

    def _cut_together(self, *places: Place) -> None:
        """A zone is cut off: those in it reach each other."""
        zone = self._new_zone()
        for place in places:
            place.machine.zone, place.machine.off_operator, place.machine.off_api = zone, True, True
        self._world.rules.excuse_plans()
        self._world.tell(f"a zone is cut off: {', '.join(place.name for place in places)}")

    def _make_ghost(self, place: Place) -> None:
        """The pod's machine cannot be reached, at least by the API server, and somebody does not want to wait."""
        if place.pod is None:
            return
        machine, chance = place.machine, self._world.chance
        machine.off_operator = machine.off_api = True
        if machine.zone == 0 and chance.random() < 0.7:
            machine.zone = self._new_zone()
        self._world.force_delete(place)

    def _new_zone(self) -> int:
        self._zones += 1
        return self._zones

    def heal_some(self) -> None:
        """A little passes by itself."""
        chance = self._world.chance
        for pod in self._world.pods():
            if not pod.agent.alive and chance.random() < self._passing * 2:
                pod.agent.restart(self._world.now)
            if pod.server is not None and pod.server.hung and chance.random() < self._passing:
                self._wake(pod)
            if pod.agent.machine.is_cut and chance.random() < self._passing / (3 if pod.is_ghost else 1):
                pod.agent.machine.heal()

    def heal(self, *, ghosts: bool) -> None:
        """All is well again; the machine of a ghost comes back, or is gone for good."""
        world = self._world
        for place in world.places.values():
            place.machine.heal()
        for ghost in list(world.ghosts if ghosts else ()):
            ghost.agent.machine.heal()
            if world.chance.random() < 0.5:
                world.tell(f"the ghost {ghost.uid} is gone with its machine")
                ghost.agent.alive = False
                world.ghosts.remove(ghost)
                world.end_server(ghost)
        for pod in world.pods():
            if not pod.agent.alive:
                pod.agent.restart(world.now)
            self._wake(pod)

    def _wake(self, pod: Pod) -> None:
        """It does what it was told before anything else."""
        if pod.server is not None:
            pod.server.hung = False
            self._world.do_what_it_was_told(pod)
