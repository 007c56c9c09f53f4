"""Faults: break a running testbed on purpose, in one way at a time, and mend it again.

Lives here: one module for each part that can break (links, nodes, pods, disks, the API server, clocks), and the
register of what is broken now. Every fault knows its own undo, which works after a crash half-way through either.

Must not live here: random schedules or checks of what a fault did to a workload; those belong to the fault suite.
"""

from testbed.faults.apiserver import ApiServerDown, ApiServerSlow
from testbed.faults.clock import ClockJump
from testbed.faults.disks import DiskFull
from testbed.faults.links import LinkLoss, LinkSlow, NodeCut, Partition
from testbed.faults.nodes import NodeStop
from testbed.faults.pods import Pause, PodFreeze
from testbed.faults.register import Fault, active, broken, heal, inject

__all__ = [
    "ApiServerDown",
    "ApiServerSlow",
    "ClockJump",
    "DiskFull",
    "Fault",
    "LinkLoss",
    "LinkSlow",
    "NodeCut",
    "NodeStop",
    "Partition",
    "Pause",
    "PodFreeze",
    "active",
    "broken",
    "heal",
    "inject",
]
