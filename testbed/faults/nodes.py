"""Faults of whole nodes."""

import signal
from dataclasses import dataclass
from typing import ClassVar

from testbed import cgroups, node, processes
from testbed.faults.links import NodeFault, node_named
from testbed.layout import Layout


@dataclass(frozen=True)
class NodeStop(NodeFault):
    """Kubelet and runtime are gone, and every process of every pod stands still, as when a machine hangs."""

    kind: ClassVar[str] = "node-stop"

    def inject(self, layout: Layout) -> None:
        target = node_named(layout, self.node)
        processes.stop(layout, node.role("kubelet", target), signal.SIGKILL)
        processes.stop(layout, node.role("containerd", target), signal.SIGKILL)
        cgroups.freeze(target.cgroup)

    def undo(self, layout: Layout) -> None:
        target = node_named(layout, self.node)
        cgroups.thaw(target.cgroup)
        node.start_runtime(layout, target)
        node.wait_for_runtime(target)
        node.start_kubelet(layout, target)
