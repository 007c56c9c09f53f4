"""Links, addresses and routes: a bridge on this machine, and a network namespace on it for each node.

Nodes route to each other's pods directly, so this machine forwards nothing and no setting of its own is changed. It
reaches pods through their nodes, and Service addresses through the first node, whose kube-proxy masquerades strangers.
"""

from contextlib import suppress
from pathlib import Path

from testbed.commands import attempt, in_netns, output, succeeds
from testbed.errors import TestbedError
from testbed.layout import Layout, NodeLayout


def ensure_bridge(layout: Layout) -> None:
    if not link_exists(layout.bridge):
        output(["ip", "link", "add", layout.bridge, "type", "bridge"])
    output(["ip", "address", "replace", f"{layout.host_ip}/24", "dev", layout.bridge])
    output(["ip", "link", "set", layout.bridge, "up"])


def ensure_node(layout: Layout, node: NodeLayout, others: list[NodeLayout]) -> None:
    """The node's namespace and link, with routes to and from everybody."""
    ensure_namespace(node.netns)
    if not link_exists(node.link) or not succeeds(in_netns(node.netns, ["ip", "link", "show", "eth0"])):
        attempt(["ip", "link", "delete", node.link])
        output(["ip", "link", "add", node.link, "type", "veth", "peer", "name", "eth0", "netns", node.netns])
    output(["ip", "link", "set", node.link, "master", layout.bridge, "up"])
    inside(node, "ip", "link", "set", "lo", "up")
    inside(node, "ip", "address", "replace", f"{node.ip}/24", "dev", "eth0")
    inside(node, "ip", "link", "set", "eth0", "up")
    inside(node, "ip", "route", "replace", "default", "via", layout.host_ip)
    inside(node, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.route_localnet=1")
    output(in_netns(node.netns, ["nft", "-f", "-"]), stdin=unserved_services_are_refused(layout.service_range))
    for other in others:
        inside(node, "ip", "route", "replace", other.pod_range, "via", other.ip)
        inside(other, "ip", "route", "replace", node.pod_range, "via", node.ip)
    output(["ip", "route", "replace", node.pod_range, "via", node.ip])


def unserved_services_are_refused(service_range: str) -> str:
    """Rules for what is forwarded to a Service's address that kube-proxy did not translate, or not yet.

    Were it lost instead, the kernel would remember the connection as untranslated, and repeat its first packet that way
    for minutes, long after kube-proxy knows the Service.
    """
    table = "inet testbed-services"
    rules = f"ip daddr {service_range} meta l4proto tcp reject with tcp reset\nip daddr {service_range} reject"
    hook = "type filter hook forward priority filter"
    return f"table {table}\ndelete table {table}\ntable {table} {{\nchain forward {{\n{hook}\n{rules}\n}}\n}}\n"


def ensure_service_route(layout: Layout) -> None:
    output(["ip", "route", "replace", layout.service_range, "via", layout.node(0).ip])


def ensure_namespace(netns: Path) -> None:
    """A namespace held by a bind mount of its own: `ip netns add` would leave a mount of /run/netns behind."""
    netns.parent.mkdir(parents=True, exist_ok=True)
    if netns.exists() and succeeds(in_netns(netns, ["true"])):
        return
    netns.touch()
    output(["unshare", f"--net={netns}", "true"])


def inside(node: NodeLayout, *argv: str) -> str:
    return output(in_netns(node.netns, argv))


def link_exists(link: str) -> bool:
    return Path(f"/sys/class/net/{link}").exists()


def remove_links(layout: Layout) -> None:
    """All links of this testbed; the nodes' other ends, routes and addresses go with them."""
    for path in Path("/sys/class/net").iterdir():
        if path.name == layout.bridge or path.name.startswith(f"{layout.bridge}n"):
            with suppress(TestbedError):  # a veth is gone as soon as the namespace of its other end is
                output(["ip", "link", "delete", path.name])
