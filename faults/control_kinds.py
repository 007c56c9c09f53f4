"""Faults of those who decide: the operator and the API server."""

import time

from faults.kinds import Kind, OnTestbed
from faults.leader import kill_leader, leader
from faults.pod_kinds import SERVER
from faults.promises import Promise
from faults.schedule import Lasting
from testbed.faults import ApiServerDown, ApiServerSlow, Fault, Partition, pods

OUTAGE = Lasting(5, 30)
ROLL_S = 20.0


class KillOperator(Kind):
    name = "operator-kill"
    promise = Promise.HARMLESS

    def stage(self) -> str:
        return f"kill -9 of {kill_leader(self.ground)}"


class KillOperatorInRoll(Kind):
    """At any moment of a roll, so at any of its steps."""

    name = "operator-kill-in-roll"
    promise = Promise.PLANNED

    def stage(self) -> str:
        self.ground.patch(annotations={"faults/rolled": f"by-{self.variant}"})
        delay_s = self.variant % 1000 / 1000 * ROLL_S
        time.sleep(delay_s)
        return f"kill -9 of {kill_leader(self.ground)} {delay_s:.1f} s into a roll"


class CutOperator(OnTestbed):
    """The leader reaches no machine and no pod; the API server, too, in every second run."""

    name = "operator-cut"
    promise = Promise.HARMLESS
    lasting = OUTAGE

    def faults(self) -> list[Fault]:
        pod = leader(self.ground)
        others = [*self.ground.machines(), *(["apiserver"] if self.variant % 2 else [])]
        return [Partition.between(self.ground.layout, pod, other) for other in others]


class StopApiServer(OnTestbed):
    name = "apiserver-down"
    promise = Promise.HARMLESS
    lasting = OUTAGE

    def faults(self) -> list[Fault]:
        return [ApiServerDown()]


class SlowApiServer(OnTestbed):
    name = "apiserver-slow"
    promise = Promise.HARMLESS
    lasting = OUTAGE

    def faults(self) -> list[Fault]:
        return [ApiServerSlow(delay_ms=500)]


class KillPrimaryAndOperator(Kind):
    """The primary dies, and the leader within half a second: anywhere in its failover."""

    name = "kill-primary-and-operator"

    def stage(self) -> str:
        from_now_s = self.variant % 500 / 1000
        server = self.ground.primary_pod()
        operator = leader(self.ground)
        pods.kill(self.ground.layout, server, **SERVER)
        time.sleep(from_now_s)
        kill_leader(self.ground)
        return f"kill -9 of {server}, {from_now_s:.1f} s later of {operator}"
