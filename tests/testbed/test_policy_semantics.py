"""Who may reach a pod: one table row per rule of the NetworkPolicy specification."""

from typing import Any

import pytest

from testbed.addons.policy import Block, Opening, Ports, concerns, isolated_pods
from testbed.addons.selectors import matches

Json = dict[str, Any]

WEB = {"app": "web"}
NAMESPACES = [
    {"metadata": {"name": "shop", "labels": {"team": "shop"}}},
    {"metadata": {"name": "lab", "labels": {"team": "lab"}}},
]


def pod(name: str, ip: str, *, namespace: str = "shop", labels: Json | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"nodeName": "node0", "containers": [{"name": "main"}], **spec},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]},
    }


def policy(name: str = "guard", *, selector: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"podSelector": selector or {}, **spec}}


TARGET = pod("web", "10.0.0.1", labels=WEB)
PODS = [
    TARGET,
    pod("friend", "10.0.0.2", labels={"role": "friend"}),
    pod("stranger", "10.0.0.3", labels={"role": "stranger"}),
    pod("lab-friend", "10.0.0.4", namespace="lab", labels={"role": "friend"}),
    pod("lab-stranger", "10.0.0.5", namespace="lab"),
]


def openings(*rules: Json, pods: list[Json] | None = None) -> tuple[Opening, ...]:
    guard = policy(selector={"matchLabels": WEB}, ingress=list(rules))
    (isolated,) = isolated_pods("node0", pods or PODS, NAMESPACES, [guard])
    return isolated.openings


def isolated_names(*policies: Json, pods: list[Json] | None = None, node: str = "node0") -> list[str]:
    return [each.uid.removeprefix("uid-") for each in isolated_pods(node, pods or PODS, NAMESPACES, list(policies))]


SOURCES = {
    "no from means everybody": ({}, None),
    "an empty from means everybody": ({"from": []}, None),
    "a pod selector means pods of the policy's own namespace": (
        {"from": [{"podSelector": {"matchLabels": {"role": "friend"}}}]},
        {"10.0.0.2"},
    ),
    "an empty pod selector means every pod of the own namespace": (
        {"from": [{"podSelector": {}}]},
        {"10.0.0.1", "10.0.0.2", "10.0.0.3"},
    ),
    "a namespace selector means every pod of those namespaces": (
        {"from": [{"namespaceSelector": {"matchLabels": {"team": "lab"}}}]},
        {"10.0.0.4", "10.0.0.5"},
    ),
    "both selectors in one entry must hold together": (
        {"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"role": "friend"}}}]},
        {"10.0.0.2", "10.0.0.4"},
    ),
    "two entries add up": (
        {"from": [{"podSelector": {"matchLabels": {"role": "friend"}}}, {"namespaceSelector": {}, "podSelector": {}}]},
        {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"},
    ),
    "a selector that nobody matches lets nobody in": (
        {"from": [{"podSelector": {"matchLabels": {"no": "one"}}}]},
        set(),
    ),
}


@pytest.mark.parametrize(("rule", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_from_says_who_may_come_in(rule: Json, expected: set[str] | None) -> None:
    (opening,) = openings(rule)
    found = None if opening.sources is None else {block.network for block in opening.sources}
    assert found == expected


def test_an_ip_block_keeps_its_exceptions() -> None:
    (opening,) = openings({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]})
    assert opening.sources == (Block("10.0.0.0/8", ("10.1.0.0/16",)),)


def test_a_namespace_not_seen_yet_lets_nobody_in() -> None:
    newcomer = pod("early", "10.0.0.9", namespace="unseen")
    (opening,) = openings({"from": [{"namespaceSelector": {}}]}, pods=[TARGET, newcomer])
    assert opening.sources == (Block("10.0.0.1"),)


PORTS = {
    "no ports means all of them": ({}, None),
    "empty ports mean all of them": ({"ports": []}, None),
    "the protocol is TCP unless said": ({"ports": [{"port": 6379}]}, {Ports("tcp", 6379, 6379)}),
    "UDP and SCTP are told apart": (
        {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 9, "protocol": "SCTP"}]},
        {Ports("udp", 53, 53), Ports("sctp", 9, 9)},
    ),
    "endPort makes a range": ({"ports": [{"port": 100, "endPort": 200}]}, {Ports("tcp", 100, 200)}),
    "a protocol alone means all its ports": ({"ports": [{"protocol": "UDP"}]}, {Ports("udp", 0, 65535)}),
    "a name is looked up in the pod": ({"ports": [{"port": "valkey"}]}, {Ports("tcp", 6379, 6379)}),
    "a sidecar's port has a name too": ({"ports": [{"port": "metrics"}]}, {Ports("tcp", 9121, 9121)}),
    "an ordinary init container serves nobody": ({"ports": [{"port": "setup"}]}, set()),
    "a name of another protocol is another name": ({"ports": [{"port": "valkey", "protocol": "UDP"}]}, set()),
    "an unknown name opens nothing, not everything": ({"ports": [{"port": "typo"}]}, set()),
}


@pytest.mark.parametrize(("rule", "expected"), PORTS.values(), ids=PORTS.keys())
def test_ports_say_what_is_open(rule: Json, expected: set[Ports] | None) -> None:
    target = pod(
        "web",
        "10.0.0.1",
        labels=WEB,
        containers=[{"name": "main", "ports": [{"name": "valkey", "containerPort": 6379}]}],
        initContainers=[
            {"name": "exporter", "restartPolicy": "Always", "ports": [{"name": "metrics", "containerPort": 9121}]},
            {"name": "prepare", "ports": [{"name": "setup", "containerPort": 1}]},
        ],
    )
    (opening,) = openings(rule, pods=[target])
    assert (None if opening.ports is None else set(opening.ports)) == expected


ISOLATION = {
    "no policy isolates nobody": ([], []),
    "an empty selector takes all pods of its namespace": ([policy()], ["web", "friend", "stranger"]),
    "a selector takes those it matches": ([policy(selector={"matchLabels": WEB})], ["web"]),
    "a policy about egress only does not isolate": ([policy(policyTypes=["Egress"])], []),
    "a policy about both isolates": (
        [policy(policyTypes=["Ingress", "Egress"], selector={"matchLabels": WEB})],
        ["web"],
    ),
}


@pytest.mark.parametrize(("policies", "expected"), ISOLATION.values(), ids=ISOLATION.keys())
def test_a_pod_is_isolated_if_an_ingress_policy_selects_it(policies: list[Json], expected: list[str]) -> None:
    assert isolated_names(*policies) == expected


def test_an_isolated_pod_without_rules_has_no_openings() -> None:
    assert openings() == ()


def test_policies_add_up() -> None:
    first = policy("a", ingress=[{"ports": [{"port": 1}]}])
    second = policy("b", ingress=[{"ports": [{"port": 2}]}])
    (isolated,) = isolated_pods("node0", [TARGET], NAMESPACES, [first, second])
    assert [opening.policy for opening in isolated.openings] == ["shop/a", "shop/b"]


def test_only_pods_of_the_node_are_enforced_there() -> None:
    elsewhere = pod("far", "10.0.9.1", nodeName="node1")
    assert isolated_names(policy(), pods=[TARGET, elsewhere], node="node1") == ["far"]


def test_host_network_finished_and_addressless_pods_are_left_out() -> None:
    on_host = pod("host", "10.89.0.10", hostNetwork=True)
    finished = pod("done", "10.0.0.8")
    finished["status"]["phase"] = "Succeeded"
    starting = pod("starting", "")
    starting["status"] = {"phase": "Pending"}
    assert isolated_names(policy(), pods=[on_host, finished, starting]) == []


def test_the_younger_of_two_pods_with_one_address_has_it() -> None:
    going = pod("going", "10.0.0.1", labels=WEB)
    coming = pod("coming", "10.0.0.1")
    going["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    coming["metadata"]["creationTimestamp"] = "2026-01-01T00:00:09Z"
    assert isolated_names(policy(selector={"matchLabels": WEB}), pods=[going, coming]) == []


TYPES = {
    "by default it is about ingress": ({}, "Ingress", True),
    "by default it is not about egress": ({}, "Egress", False),
    "egress rules make it about egress": ({"egress": []}, "Egress", True),
    "the list of types decides": ({"policyTypes": ["Egress"]}, "Ingress", False),
}


@pytest.mark.parametrize(("spec", "direction", "expected"), TYPES.values(), ids=TYPES.keys())
def test_policy_types_have_defaults(spec: Json, direction: str, expected: bool) -> None:
    assert concerns(policy(**spec), direction) is expected


def expression(operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": "tier", "operator": operator, "values": list(values)}]}


SELECTORS = {
    "empty matches everything": ({}, {}, True),
    "labels must all be there": ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1"}, False),
    "In finds one of its values": (expression("In", "x", "y"), {"tier": "y"}, True),
    "In needs the label": (expression("In", "x"), {}, False),
    "NotIn refuses its values": (expression("NotIn", "x"), {"tier": "x"}, False),
    "NotIn accepts a missing label": (expression("NotIn", "x"), {}, True),
    "Exists accepts any value": (expression("Exists"), {"tier": ""}, True),
    "Exists needs the label": (expression("Exists"), {}, False),
    "DoesNotExist needs it away": (expression("DoesNotExist"), {"tier": "x"}, False),
    "labels and expressions must both hold": (
        {"matchLabels": {"a": "1"}, **expression("Exists")},
        {"a": "1"},
        False,
    ),
}


@pytest.mark.parametrize(("selector", "labels", "expected"), SELECTORS.values(), ids=SELECTORS.keys())
def test_selectors_match_as_kubernetes_says(selector: Json, labels: dict[str, str], expected: bool) -> None:
    assert matches(selector, labels) is expected
