"""Faults of servers, their pods and their disks."""

from typing import ClassVar

from faults.kinds import Kind, OnTestbed
from faults.promises import Promise
from faults.schedule import Lasting
from faults.settings import NAME
from testbed.faults import DiskFull, Fault, Pause, PodFreeze, pods
from valkey_operator.core.names import PRIMARY_ANNOTATION

SERVER = {"container": "valkey", "process": "valkey-server"}


class KillPrimary(Kind):
    name = "kill-primary"

    def stage(self) -> str:
        pod = self.ground.primary_pod()
        pods.kill(self.ground.layout, pod, **SERVER)
        return f"kill -9 of the server of {pod}"


class KillLargePrimary(KillPrimary):
    """One with 3 GiB of data, which the kernel takes back before it closes the server's connections."""

    name = "kill-primary-3gib"
    is_costly = True

    def prepare(self) -> None:
        script = "for i = 1, 3072 do redis.call('SETRANGE', 'faults:ballast:' .. i, 1048575, 'x') end"
        self.ground.shop.say(self.ground.primary(), "EVAL", script, "0")
        self.ground.shop.say(self.ground.primary(), "WAIT", "2", "60000")


class KillReplica(Kind):
    name = "kill-replica"
    promise = Promise.HARMLESS

    def stage(self) -> str:
        pod = self.ground.pod_of(self.ground.a_replica(self.variant))
        pods.kill(self.ground.layout, pod, **SERVER)
        return f"kill -9 of the server of {pod}"


class PauseServer(OnTestbed):
    """The primary's server alone stands still; its agent goes on."""

    name = "pause-server"
    lasting = Lasting(1, 60)

    def faults(self) -> list[Fault]:
        return [Pause.of(self.ground.layout, self.ground.primary_pod(), **SERVER)]


class PausePod(OnTestbed):
    """All of the primary's pod stands still, as with a machine that is paused for a moment."""

    name = "pause-pod"
    promise = Promise.THAWED
    lasting = Lasting(1, 60)

    def faults(self) -> list[Fault]:
        return [PodFreeze.of(self.ground.layout, self.ground.primary_pod())]


class DeletePod(Kind):
    name = "delete-pod"
    promise = Promise.PLANNED

    def stage(self) -> str:
        node = self.ground.primary()
        self.ground.delete_pod(node)
        return f"the pod of {node} deleted"


class ForceDeletePod(Kind):
    name = "force-delete-pod"

    def stage(self) -> str:
        node = self.ground.primary()
        self.ground.delete_pod(node, force=True)
        return f"the pod of {node} deleted by force"


class FillDisk(OnTestbed):
    """The primary's volume is full, and a snapshot is asked for, as the save policy would sooner or later."""

    name = "disk-full"
    lasting = Lasting(10, 30)

    def faults(self) -> list[Fault]:
        return [DiskFull.of(self.ground.layout, f"{self.ground.namespace}/{self.ground.primary()}-data")]

    def stage(self) -> str:
        primary = self.ground.primary()
        done = super().stage()
        self.ground.shop.say(primary, "BGSAVE")
        return f"{done}, snapshot of {primary} asked for"


class SwitchOver(Kind):
    """A user wishes for another primary."""

    name = "switchover"
    promise = Promise.PLANNED

    def prepare(self) -> None:
        """A wish is met once: the same one is none before the former is gone."""
        self.ground.annotate(PRIMARY_ANNOTATION, None)

    def stage(self) -> str:
        node = self.ground.a_replica(self.variant)
        self.ground.annotate(PRIMARY_ANNOTATION, node)
        return f"{node} wished for as primary"


class Roll(Kind):
    """Every pod is replaced, one after the other."""

    name = "roll"
    promise = Promise.PLANNED

    def stage(self) -> str:
        self.ground.patch(annotations={"faults/rolled": f"by-{self.variant}"})
        return "all pods get another annotation"


class Scale(Kind):
    """Fewer or more nodes, and back."""

    name = "scale"
    promise = Promise.PLANNED
    lasting = Lasting(15, 30)
    usual: ClassVar[int] = 3
    others: ClassVar[tuple[int, ...]] = (1, 2, 4)

    def stage(self) -> str:
        count = self.others[self.variant % len(self.others)]
        self.ground.patch(replicas=count)
        return f"{count} nodes"

    def heal(self) -> None:
        self.ground.patch(replicas=self.usual)


class Suspend(Kind):
    name = "suspend"
    promise = Promise.PLANNED
    lasting = Lasting(8, 15)

    def stage(self) -> str:
        self.ground.patch(replicas=0)
        return f"{NAME} suspended"

    def heal(self) -> None:
        self.ground.patch(replicas=3)
