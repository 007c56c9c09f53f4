"""Isolated pods as nftables text for one node: a table of our own, replaced in one transaction.

Pods hang on routed veth pairs, so every packet to a pod passes the node's `forward` hook, from the same node too, and
after kube-proxy has turned Service addresses into pod addresses. What the node itself sends (kubelet probes) passes
`output` instead, and so stays allowed.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from itertools import groupby

from testbed.addons.kubeapi import Json
from testbed.addons.policy import Block, Isolated, Opening, Ports, isolated_pods

TABLE = "inet testbed-policy"
COMMENT_LENGTH = 127  # what the kernel keeps of a rule's comment


def ruleset(node: str, pods: list[Json], namespaces: list[Json], policies: list[Json]) -> str:
    """The whole policy table of a node, for `nft -f`; the same input gives the same text."""
    isolated = isolated_pods(node, pods, namespaces, policies)
    chains = [line for pod in isolated for line in _pod_chain(pod)]
    # `add` first, so that `delete` finds a table on the first run as well.
    lines = [f"add table {TABLE}", f"delete table {TABLE}", f"table {TABLE} {{", *chains, *_forward(isolated), "}"]
    return "\n".join(lines) + "\n"


def _forward(isolated: list[Isolated]) -> Iterator[str]:
    yield "\tchain forward {"
    yield "\t\ttype filter hook forward priority filter; policy accept;"
    yield "\t\tct state established,related accept"
    chains = {address: _chain(pod) for pod in isolated for address in pod.addresses}
    for family, addresses in _by_family(chains):
        entries = ", ".join(f"{address} : goto {chains[address]}" for address in addresses)
        yield f"\t\t{family} daddr vmap {{ {entries} }}"
    yield "\t}"


def _pod_chain(pod: Isolated) -> Iterator[str]:
    yield f"\tchain {_chain(pod)} {{"
    # A pod may always talk to itself, also by way of its Service.
    own = Opening("itself", tuple(map(Block, pod.addresses)), None)
    for opening in (own, *pod.openings):
        comment = opening.policy[:COMMENT_LENGTH]
        for source in _sources(opening.sources):
            for ports in _port_matches(opening.ports):
                yield f'\t\t{source}{ports}accept comment "{comment}"'
    yield "\t\tdrop"
    yield "\t}"


def _sources(blocks: tuple[Block, ...] | None) -> Iterator[str]:
    if blocks is None:
        yield ""
        return
    whole = [block.network for block in blocks if not block.without]
    for family, networks in _by_family(whole):
        yield f"{family} saddr {{ {_joined(family, networks)} }} "
    for block in (block for block in blocks if block.without):
        family = _family(block.network)
        yield f"{family} saddr {block.network} {family} saddr != {{ {_joined(family, block.without)} }} "


def _port_matches(ports: tuple[Ports, ...] | None) -> Iterator[str]:
    if ports is None:
        yield ""
        return
    for protocol, group in groupby(sorted(ports), key=lambda each: each.protocol):
        ranges = ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in _merged(group))
        yield f"{protocol} dport {{ {ranges} }} "


def _merged(ports: Iterable[Ports]) -> Iterator[tuple[int, int]]:
    """Sorted ranges joined where they overlap: nft refuses a set that names a port twice."""
    first, last = -1, -1
    for each in ports:
        if first >= 0 and each.first <= last + 1:
            last = max(last, each.last)
            continue
        if first >= 0:
            yield first, last
        first, last = each.first, each.last
    if first >= 0:
        yield first, last


def _joined(family: str, texts: Iterable[str]) -> str:
    """Networks of one family as the content of a set, none inside another: nft refuses overlaps."""
    if family == "ip6":
        return ", ".join(map(str, collapse_addresses(IPv6Network(text, strict=False) for text in texts)))
    return ", ".join(map(str, collapse_addresses(IPv4Network(text, strict=False) for text in texts)))


def _chain(pod: Isolated) -> str:
    return f"pod-{pod.uid}"


def _family(address: str) -> str:
    return "ip6" if ":" in address else "ip"


def _by_family(texts: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    ordered = sorted(texts, key=lambda text: (_family(text), text))
    return ((family, list(group)) for family, group in groupby(ordered, key=_family))
