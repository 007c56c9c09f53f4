"""Faults of the network: a node cut off, packets lost, a slow link, a partition.

Drops are nftables tables of their own in the nodes' namespaces, one per fault, so that faults never touch each other's
rules or kube-proxy's, and undoing one is deleting its table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from testbed import kubectl, record
from testbed.commands import attempt, in_netns, output
from testbed.errors import TestbedError
from testbed.faults.register import Fault
from testbed.layout import Layout, NodeLayout

API_SERVER = "apiserver"


def all_nodes(layout: Layout) -> list[NodeLayout]:
    return layout.nodes(record.require(layout.name)[1].nodes)


def node_named(layout: Layout, name: str) -> NodeLayout:
    nodes = {each.name: each for each in all_nodes(layout)}
    if name not in nodes:
        raise TestbedError(f"no node {name!r}: this testbed has {', '.join(nodes)}")
    return nodes[name]


def add_table(node: NodeLayout, table: str, chains: Iterable[tuple[str, str, list[str]]]) -> None:
    """A table of chains, each with its hook, priority and rules, in place of one of the same name."""
    lines = [f"table inet {table}", f"delete table inet {table}", f"table inet {table} {{"]
    for hook, priority, rules in chains:
        lines += [f"chain {hook} {{", f"type filter hook {hook} priority {priority}", *rules, "}"]
    output(in_netns(node.netns, ["nft", "-f", "-"]), stdin="\n".join([*lines, "}", ""]))


def delete_table(node: NodeLayout, table: str) -> None:
    attempt(in_netns(node.netns, ["nft", "delete", "table", "inet", table]))


@dataclass(frozen=True)
class NodeFault(Fault):
    """A fault of one node."""

    node: str
    kind: ClassVar[str] = ""

    def check(self, layout: Layout) -> None:
        node_named(layout, self.node)


@dataclass(frozen=True)
class NodeCut(NodeFault):
    """The node's only link is down: nothing reaches it, it reaches nothing."""

    kind: ClassVar[str] = "node-cut"

    def inject(self, layout: Layout) -> None:
        output(["ip", "link", "set", node_named(layout, self.node).link, "down"])

    def undo(self, layout: Layout) -> None:
        output(["ip", "link", "set", node_named(layout, self.node).link, "up"])


@dataclass(frozen=True)
class LinkLoss(NodeFault):
    """A share of the packets to and from a node is lost, each on its own."""

    percent: int
    kind: ClassVar[str] = "link-loss"

    def inject(self, layout: Layout) -> None:
        lose = f"numgen random mod 100 < {self.percent} drop"
        chains = [("prerouting", "raw", [f"iifname eth0 {lose}"]), ("postrouting", "raw", [f"oifname eth0 {lose}"])]
        add_table(node_named(layout, self.node), self.id, chains)

    def undo(self, layout: Layout) -> None:
        delete_table(node_named(layout, self.node), self.id)


@dataclass(frozen=True)
class LinkSlow(NodeFault):
    """A node's link carries little, both ways; what does not fit waits in a queue, then is dropped."""

    kilobits: int
    queue_ms: int
    kind: ClassVar[str] = "link-slow"

    def inject(self, layout: Layout) -> None:
        node = node_named(layout, self.node)
        shape = ["root", "tbf", "rate", f"{self.kilobits}kbit", "burst", "16kb", "latency", f"{self.queue_ms}ms"]
        output(["tc", "qdisc", "replace", "dev", node.link, *shape])
        output(in_netns(node.netns, ["tc", "qdisc", "replace", "dev", "eth0", *shape]))

    def undo(self, layout: Layout) -> None:
        node = node_named(layout, self.node)
        attempt(["tc", "qdisc", "delete", "dev", node.link, "root"])
        attempt(in_netns(node.netns, ["tc", "qdisc", "delete", "dev", "eth0", "root"]))


@dataclass(frozen=True)
class Partition(Fault):
    """Packets from one side never arrive at the other; both ways, unless it is one way only.

    A side is a node with all its pods, a pod, or the API server. Addresses are taken when the partition begins: a pod
    that is replaced meanwhile is outside of it.
    """

    sides: str
    from_addresses: str
    to_addresses: str
    one_way: bool
    kind: ClassVar[str] = "partition"

    @classmethod
    def between(cls, layout: Layout, one: str, other: str, *, one_way: bool = False) -> Self:
        return cls(f"{one}-{other}", addresses_of(layout, one), addresses_of(layout, other), one_way)

    def inject(self, layout: Layout) -> None:
        # Where the destination is translated already, so that traffic through a Service is cut as well.
        chains = [(hook, "filter", self.rules()) for hook in ("input", "forward", "output")]
        for node in all_nodes(layout):
            add_table(node, self.id, chains)

    def undo(self, layout: Layout) -> None:
        for node in all_nodes(layout):
            delete_table(node, self.id)

    def rules(self) -> list[str]:
        there = f"ip saddr {{ {self.from_addresses} }} ip daddr {{ {self.to_addresses} }} drop"
        back = f"ip saddr {{ {self.to_addresses} }} ip daddr {{ {self.from_addresses} }} drop"
        return [there] if self.one_way else [there, back]


def addresses_of(layout: Layout, side: str) -> str:
    """The addresses of a node and its pods, of a pod (`name` or `namespace/name`), or of the API server."""
    if side == API_SERVER:
        return layout.host_ip
    nodes = {each.name: each for each in all_nodes(layout)}
    if side in nodes:
        return f"{nodes[side].ip}, {nodes[side].pod_range}"
    namespace, _, name = side.rpartition("/")
    found = kubectl.attempt(
        layout, "get", "pod", name, f"--namespace={namespace or 'default'}", "-o=jsonpath={.status.podIP}"
    )
    if found.returncode or not found.stdout:
        known = ", ".join([*nodes, API_SERVER])
        raise TestbedError(
            f"{side!r} is no side of a partition: name one of {known}, or a running pod as NAMESPACE/POD"
        )
    return found.stdout
