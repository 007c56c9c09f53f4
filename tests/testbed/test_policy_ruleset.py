"""The nftables text of a node: the whole of it once, the delicate parts by table, and the real nft as the judge."""

import os
from typing import Any

import pytest

from testbed.addons.ruleset import ruleset
from testbed.commands import attempt

Json = dict[str, Any]

POD: Json = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "labels": {"app": "web"}},
    "spec": {"nodeName": "node0", "containers": [{"name": "main"}]},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
}


def policy(*rules: Json) -> Json:
    return {"metadata": {"name": "guard", "namespace": "shop"}, "spec": {"podSelector": {}, "ingress": list(rules)}}


def block(cidr: str, *without: str) -> Json:
    return {"ipBlock": {"cidr": cidr, "except": list(without)}}


def text_for(*rules: Json) -> str:
    return ruleset("node0", [POD], [], [policy(*rules)])


def rules_for(*rules: Json) -> list[str]:
    """The rules that come from the policy, without what they all end in."""
    marker = 'accept comment "shop/guard"'
    return [line.removesuffix(marker).strip() for line in text_for(*rules).splitlines() if line.endswith(marker)]


def test_a_node_gets_one_table_that_replaces_the_former_one() -> None:
    assert text_for({"from": [block("10.9.0.0/16")], "ports": [{"port": 6379}]}) == (
        "add table inet testbed-policy\n"
        "delete table inet testbed-policy\n"
        "table inet testbed-policy {\n"
        "\tchain pod-u1 {\n"
        '\t\tip saddr { 10.0.0.1/32 } accept comment "itself"\n'
        '\t\tip6 saddr { fd00::1/128 } accept comment "itself"\n'
        '\t\tip saddr { 10.9.0.0/16 } tcp dport { 6379 } accept comment "shop/guard"\n'
        "\t\tdrop\n"
        "\t}\n"
        "\tchain forward {\n"
        "\t\ttype filter hook forward priority filter; policy accept;\n"
        "\t\tct state established,related accept\n"
        "\t\tip daddr vmap { 10.0.0.1 : goto pod-u1 }\n"
        "\t\tip6 daddr vmap { fd00::1 : goto pod-u1 }\n"
        "\t}\n"
        "}\n"
    )


def test_without_isolated_pods_the_table_lets_everything_pass() -> None:
    assert "drop" not in ruleset("node0", [POD], [], [])
    assert "vmap" not in ruleset("node0", [POD], [], [])


RULES = {
    "networks inside each other are joined": (
        [{"from": [block("10.0.0.0/8"), block("10.1.0.0/16")]}],
        ["ip saddr { 10.0.0.0/8 }"],
    ),
    "exceptions inside each other are joined": (
        [{"from": [block("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24")]}],
        ["ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16 }"],
    ),
    "families are kept apart": (
        [{"from": [block("fd00::/8"), block("10.0.0.0/8")]}],
        ["ip saddr { 10.0.0.0/8 }", "ip6 saddr { fd00::/8 }"],
    ),
    "overlapping ports are joined": (
        [{"ports": [{"port": 10, "endPort": 20}, {"port": 15}, {"port": 18, "endPort": 30}, {"port": 99}]}],
        ["tcp dport { 10-30, 99 }"],
    ),
    "protocols are kept apart": (
        [{"ports": [{"port": 53}, {"port": 53, "protocol": "UDP"}]}],
        ["tcp dport { 53 }", "udp dport { 53 }"],
    ),
    "every source may reach every port": (
        [{"from": [block("10.0.0.0/8"), block("fd00::/8")], "ports": [{"port": 1}, {"protocol": "UDP"}]}],
        [
            "ip saddr { 10.0.0.0/8 } tcp dport { 1 }",
            "ip saddr { 10.0.0.0/8 } udp dport { 0-65535 }",
            "ip6 saddr { fd00::/8 } tcp dport { 1 }",
            "ip6 saddr { fd00::/8 } udp dport { 0-65535 }",
        ],
    ),
    "nobody at some ports is no rule at all": ([{"from": [{"podSelector": {"matchLabels": {"no": "one"}}}]}], []),
    "everybody at no port is no rule at all": ([{"ports": [{"port": "unknown"}]}], []),
    "everybody at everything needs no condition": ([{}], [""]),
}


@pytest.mark.parametrize(("rules", "expected"), RULES.values(), ids=RULES.keys())
def test_openings_become_rules(rules: list[Json], expected: list[str]) -> None:
    assert rules_for(*rules) == expected


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may ask nft")
@pytest.mark.parametrize("rules", [row[0] for row in RULES.values()], ids=RULES.keys())
def test_nft_accepts_the_text(rules: list[Json]) -> None:
    checked = attempt(["unshare", "--net", "nft", "-c", "-f", "-"], stdin=text_for(*rules))
    assert checked.returncode == 0, f"{checked.stderr}\n{text_for(*rules)}"


def test_a_long_policy_name_fits_into_the_comment() -> None:
    long = policy({})
    long["metadata"]["name"] = "p" * 253
    assert f'comment "shop/{"p" * 122}"' in ruleset("node0", [POD], [], [long])
