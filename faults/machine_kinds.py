"""Faults of machines and of the ways between them."""

from faults.kinds import Kind, OnTestbed
from faults.leader import keep_leader_off, put_leader_on
from faults.problems import NotThereError
from faults.promises import Promise
from faults.schedule import Lasting
from testbed.faults import Fault, LinkSlow, NodeCut, NodeStop, Partition

LOST = Lasting(10, 25)
DRAINED_WITHIN_S = 90


class CutMachine(OnTestbed):
    """The operator's leader is on another machine."""

    name = "node-cut"
    lasting = LOST

    def prepare(self) -> None:
        keep_leader_off(self.ground, self.ground.machine_of_primary())

    def faults(self) -> list[Fault]:
        return [NodeCut(self.ground.machine_of_primary())]


class CutMachineOfLeader(CutMachine):
    """The operator's leader is on the same machine."""

    name = "node-cut-with-leader"
    promise = Promise.LEADERLESS

    def prepare(self) -> None:
        put_leader_on(self.ground, self.ground.machine_of_primary())


class StopMachine(CutMachine):
    name = "node-stop"
    promise = Promise.THAWED

    def faults(self) -> list[Fault]:
        return [NodeStop(self.ground.machine_of_primary())]


class PartOneWay(OnTestbed):
    """Packets in one direction only are lost: from or to the primary's pod, or on the way to the API server."""

    name = "one-way-partition"
    lasting = LOST

    def faults(self) -> list[Fault]:
        primary = self.ground.primary_pod()
        others = [self.ground.pod_of(node) for node in self.ground.replicas()]
        sides = {
            "from the primary": [(primary, other) for other in others],
            "to the primary": [(other, primary) for other in others],
            "to the API server": [(primary, "apiserver")],
        }
        chosen = sides[sorted(sides)[self.variant % len(sides)]]
        return [Partition.between(self.ground.layout, one, other, one_way=True) for one, other in chosen]


class PartPrimary(OnTestbed):
    """The primary's pod and its replicas do not reach each other; clients and the operator reach all."""

    name = "partition"
    lasting = LOST

    def faults(self) -> list[Fault]:
        primary = self.ground.primary_pod()
        others = [self.ground.pod_of(node) for node in self.ground.replicas()]
        return [Partition.between(self.ground.layout, primary, other) for other in others]


class SlowPrimary(OnTestbed):
    """The primary is slow but alive: a snapshot, and packets that wait up to 100 ms."""

    name = "slow-primary"
    promise = Promise.HARMLESS
    lasting = LOST

    def faults(self) -> list[Fault]:
        return [LinkSlow(self.ground.machine_of_primary(), kilobits=4000, queue_ms=100)]

    def stage(self) -> str:
        primary = self.ground.primary()
        done = super().stage()
        self.ground.shop.say(primary, "BGSAVE")
        return f"{done}, snapshot of {primary}"


class Drain(Kind):
    """The primary's machine is emptied, and taken back into use."""

    name = "drain"
    promise = Promise.PLANNED
    lasting = Lasting(5, 10)
    _machine = ""

    def stage(self) -> str:
        self._machine = self.ground.machine_of_primary()
        flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={DRAINED_WITHIN_S}s")
        done = self.ground.shop.cluster.try_kubectl("drain", self._machine, *flags, timeout_s=DRAINED_WITHIN_S + 10)
        if done.returncode:
            raise NotThereError(f"{self._machine} was not drained: {done.stderr.strip()[-200:]}")
        return f"{self._machine} drained"

    def heal(self) -> None:
        if self._machine:
            self.ground.shop.cluster.kubectl("uncordon", self._machine)
