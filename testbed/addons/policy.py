"""Who may open connections to a pod: the ingress half of NetworkPolicy, as plain values.

Knows the semantics, not how they are enforced (ruleset.py). Egress is left out on purpose: the testbed does not
enforce it. Vocabulary: a pod is *isolated* if any policy selects it for ingress; an isolated pod is reached only
through its *openings*, which add up over all policies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from testbed.addons.kubeapi import Json
from testbed.addons.selectors import matches

LAST_PORT = 65535


@dataclass(frozen=True, order=True)
class Ports:
    """The ports `first` to `last` of a protocol (tcp, udp, sctp)."""

    protocol: str
    first: int = 0
    last: int = LAST_PORT


@dataclass(frozen=True)
class Block:
    """The addresses of a network without some of its parts, in CIDR notation."""

    network: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Opening:
    """Sources that may reach ports. None means: all of them."""

    policy: str
    sources: tuple[Block, ...] | None
    ports: tuple[Ports, ...] | None


@dataclass(frozen=True)
class Isolated:
    """A pod that policies select, with all its ways in."""

    uid: str
    addresses: tuple[str, ...]
    openings: tuple[Opening, ...]


def isolated_pods(node: str, pods: list[Json], namespaces: list[Json], policies: list[Json]) -> list[Isolated]:
    """The pods of a node that ingress policies select, each with what still may reach it."""
    owners = address_owners(pods)
    peers = Peers(owners, namespaces)
    guards = [policy for policy in policies if concerns(policy, "Ingress")]
    on_node = [pod for pod in owners if pod["spec"].get("nodeName") == node]
    chosen = ((pod, [guard for guard in guards if _selects(guard, pod)]) for pod in on_node)
    return [_isolated(pod, guards_of_pod, peers) for pod, guards_of_pod in chosen if guards_of_pod]


def address_owners(pods: list[Json]) -> list[Json]:
    """The pods with an address of their own.

    For a moment a pod that is going and one that is coming may show the same address: the younger one has it.
    """
    by_age = sorted(filter(_has_own_address, pods), key=lambda pod: pod["metadata"].get("creationTimestamp", ""))
    newest = {address: pod["metadata"]["uid"] for pod in by_age for address in _addresses(pod)}
    return [pod for pod in by_age if all(newest[address] == pod["metadata"]["uid"] for address in _addresses(pod))]


def concerns(policy: Json, direction: str) -> bool:
    """Whether a policy is about Ingress or Egress. Without policyTypes, egress needs rules for it."""
    types = policy["spec"].get("policyTypes")
    if types:
        return direction in types
    return direction == "Ingress" or "egress" in policy["spec"]


class Peers:
    """The addresses of pods, found by labels of the pod and of its namespace."""

    def __init__(self, pods: list[Json], namespaces: list[Json]) -> None:
        self._pods = pods
        self._namespaces = {item["metadata"]["name"]: _labels(item) for item in namespaces}

    def blocks(self, peer: Json, home: str) -> Iterator[Block]:
        """What one entry of `from` means, in a policy of the namespace `home`."""
        if "ipBlock" in peer:
            yield Block(peer["ipBlock"]["cidr"], tuple(peer["ipBlock"].get("except") or ()))
            return
        for pod in self._pods:
            if self._is_meant(pod, peer, home):
                yield from map(Block, _addresses(pod))

    def _is_meant(self, pod: Json, peer: Json, home: str) -> bool:
        namespace = pod["metadata"]["namespace"]
        if "namespaceSelector" in peer:
            # A namespace not seen yet has no labels: nobody is let in by a guess.
            known = namespace in self._namespaces
            in_reach = known and matches(peer["namespaceSelector"], self._namespaces[namespace])
        else:
            in_reach = namespace == home
        return in_reach and matches(peer.get("podSelector") or {}, _labels(pod))


def _isolated(pod: Json, guards: list[Json], peers: Peers) -> Isolated:
    openings = (_opening(guard, rule, pod, peers) for guard in guards for rule in guard["spec"].get("ingress") or [])
    return Isolated(pod["metadata"]["uid"], _addresses(pod), tuple(openings))


def _opening(policy: Json, rule: Json, pod: Json, peers: Peers) -> Opening:
    home, entries = policy["metadata"]["namespace"], rule.get("from")
    sources = dict.fromkeys(block for peer in entries or [] for block in peers.blocks(peer, home))
    ports = {found for entry in rule.get("ports") or [] for found in _ports(entry, pod)}
    return Opening(
        policy=f"{home}/{policy['metadata']['name']}",
        sources=tuple(sources) if entries else None,
        # A named port that the pod does not have opens nothing; it must not turn into "all ports".
        ports=tuple(sorted(ports)) if rule.get("ports") else None,
    )


def _ports(entry: Json, pod: Json) -> Iterator[Ports]:
    protocol = entry.get("protocol", "TCP")
    port = entry.get("port")
    if port is None:
        yield Ports(protocol.lower())
    elif isinstance(port, int):
        yield Ports(protocol.lower(), port, entry.get("endPort", port))
    else:
        for number in _named_ports(pod, port, protocol):
            yield Ports(protocol.lower(), number, number)


def _named_ports(pod: Json, name: str, protocol: str) -> Iterator[int]:
    for container in _long_running(pod):
        for port in container.get("ports") or []:
            if port.get("name") == name and port.get("protocol", "TCP") == protocol:
                yield port["containerPort"]


def _long_running(pod: Json) -> Iterable[Json]:
    yield from pod["spec"]["containers"]
    # An init container that is restarted for ever is a sidecar, and serves like any other container.
    yield from (each for each in pod["spec"].get("initContainers") or [] if each.get("restartPolicy") == "Always")


def _selects(policy: Json, pod: Json) -> bool:
    same_namespace = policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same_namespace and matches(policy["spec"].get("podSelector") or {}, _labels(pod))


def _has_own_address(pod: Json) -> bool:
    """A host-network pod has only its node's address, a finished pod's may belong to another one already."""
    is_finished = pod["status"].get("phase") in ("Succeeded", "Failed")
    return not is_finished and not pod["spec"].get("hostNetwork") and bool(_addresses(pod))


def _addresses(pod: Json) -> tuple[str, ...]:
    listed = [entry["ip"] for entry in pod["status"].get("podIPs") or [] if entry.get("ip")]
    single = pod["status"].get("podIP")
    return tuple(listed or ([single] if single else []))


def _labels(item: Json) -> dict[str, str]:
    return item["metadata"].get("labels") or {}
