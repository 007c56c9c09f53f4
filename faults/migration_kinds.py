"""Faults while slots of a ValkeyCluster move: a shard is added, and something breaks once they are under way."""

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from faults.cluster_kinds import CHANGED_S, OnCluster
from faults.connection import Command
from faults.leader import kill_leader
from faults.pod_kinds import SERVER
from faults.problems import NotThereError
from faults.promises import Promise
from faults.schedule import Lasting
from faults.settings import SHARDS
from faults.slot_map import tag_among
from testbed import faults as testbed_faults
from testbed.addons.kubeapi import Json
from testbed.faults import ApiServerDown, pods
from valkey_operator.valkey.slots import Slots

BALLAST_MIB = 128
"""Of each shard, in slots that move: without data a move is over before anybody sees it."""
IN_SLOTS = 8
MOVES_WITHIN_S = 120.0
LOOK_EVERY_S = 0.02


def ballast(slots: Slots) -> Iterator[Command]:
    """Large values of zeros, which need no large commands, in the slots that a shard gives first."""
    highest = list(slots.highest(IN_SLOTS))
    tags = [tag_among(Slots(1 << slot)) for slot in highest]
    for number in range(BALLAST_MIB):
        tag = tags[number % len(tags)]
        yield "SETRANGE", f"faults-ballast:{{{tag}}}:{number}", (1 << 20) - 1, "x"


def moving(status: Json) -> tuple[int, int] | None:
    """The shards between which slots are on their way at this moment, as the status tells; the first, if many."""
    told = status.get("migration") or {}
    if not told.get("slots"):
        return None
    source, target = (str(told.get(side, "")).split(",")[0].strip() for side in ("from", "to"))
    return (int(source), int(target)) if source and target else None


class InMigration(OnCluster):
    """From three shards to four; what is broken then lasts, and three shards are asked for again."""

    lasting = Lasting(5, 20)
    usually_settled_s: ClassVar[float] = CHANGED_S
    _is_changed = False

    def prepare(self) -> None:
        primaries = self.ground.primaries()
        slots = self.ground.slots()
        self.ground.order({node: [*ballast(slots[shard]), ("WAIT", 1, 4000)] for shard, node in primaries.items()})

    def stage(self) -> str:
        self._is_changed = True
        self.ground.patch(shards=SHARDS + 1)
        source, target = self._wait_until_moving()
        return f"{self.strike(source, target)} while slots moved from shard {source} to {target}"

    @abstractmethod
    def strike(self, source: int, target: int) -> str:
        """Break something, and say what."""

    def heal(self) -> None:
        self.mend()
        if self._is_changed:
            self.ground.patch(shards=SHARDS)

    def mend(self) -> None:
        """Nothing to mend where a process was killed."""

    def _wait_until_moving(self) -> tuple[int, int]:
        deadline_s = time.monotonic() + MOVES_WITHIN_S
        status = self.ground.status()
        while time.monotonic() < deadline_s:
            if found := moving(status):
                return found
            time.sleep(LOOK_EVERY_S)
            status = self.ground.status()
        seen = {name: status.get(name) for name in ("state", "message", "migration")}
        raise NotThereError(f"no slots were seen to move within {MOVES_WITHIN_S:.0f} s: {seen}")

    def _kill(self, shard: int) -> str:
        pod = self.ground.pod_of(self.ground.primary_of(shard))
        pods.kill(self.ground.layout, pod, **SERVER)
        return f"kill -9 of the server of {pod}"


class KillSource(InMigration):
    name = "cluster-migrate-kill-source"

    def strike(self, source: int, _target: int) -> str:
        return self._kill(source)


class KillTarget(InMigration):
    """It may die right after slots became its own, before its replica has what came with them."""

    name = "cluster-migrate-kill-target"
    promise = Promise.CLUSTER_UNPLANNED

    def strike(self, _source: int, target: int) -> str:
        return self._kill(target)


class KillOperatorInMigration(InMigration):
    name = "cluster-migrate-kill-operator"
    promise = Promise.CLUSTER_PLANNED

    def strike(self, _source: int, _target: int) -> str:
        return f"kill -9 of {kill_leader(self.ground)}"


class StopApiServerInMigration(InMigration):
    name = "cluster-migrate-apiserver-down"
    promise = Promise.CLUSTER_PLANNED

    def strike(self, _source: int, _target: int) -> str:
        testbed_faults.inject(self.ground.layout, ApiServerDown())
        return str(ApiServerDown())

    def mend(self) -> None:
        testbed_faults.heal(self.ground.layout, ApiServerDown())


MIGRATION_KINDS: tuple[type[InMigration], ...] = (
    KillSource,
    KillTarget,
    KillOperatorInMigration,
    StopApiServerInMigration,
)
