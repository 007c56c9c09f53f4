"""config/rbac and config/deploy, the chart as plain manifests: complete, consistent, within the restricted profile.

That they are what the chart says today: tests/testbed/test_chart.py, because it takes Helm.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import codecs

from valkey_operator.cli.engine import LEASE_NAME
from valkey_operator.cli.settings import OperatorSettings, parse_settings
from valkey_operator.controllers.agents.authority import SECRET_NAME

CONFIG = Path(__file__).parents[2] / "config"
FILES = sorted(file for folder in ("rbac", "deploy") for file in (CONFIG / folder).glob("*.yaml"))

OF_THE_CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
ROLES = ("Role", "ClusterRole")


def all_objects() -> list[dict[str, Any]]:
    return [each for file in FILES for each in yaml.safe_load_all(file.read_text())]


def is_for_agents(each: dict[str, Any]) -> bool:
    return str(each["metadata"]["name"]).endswith("-lease")


def objects() -> dict[str, dict[str, Any]]:
    """Every object by its kind, the Services and what agents may do aside: there is one of each."""
    found = [each for each in all_objects() if each["kind"] != "Service" and not is_for_agents(each)]
    by_kind = {each["kind"]: each for each in found}
    assert len(by_kind) == len(found)
    return by_kind


def services() -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in all_objects() if each["kind"] == "Service"}


def pod_spec() -> dict[str, Any]:
    spec: dict[str, Any] = objects()["Deployment"]["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_field_is_one_that_kubernetes_knows(file: Path) -> None:
    written = list(yaml.safe_load_all(file.read_text()))
    understood = codecs.dump_all_yaml(codecs.load_all_yaml(file.read_text()))
    assert list(yaml.safe_load_all(understood or "")) == written


def test_the_namespace_enforces_the_restricted_profile() -> None:
    labels = objects()["Namespace"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_pod_satisfies_the_restricted_profile() -> None:
    spec = pod_spec()
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] != 0
    assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert {kind for volume in spec["volumes"] for kind in volume.keys() - {"name"}} == {"emptyDir", "projected"}
    for container in spec["containers"]:
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert not any("hostPort" in port for port in container["ports"])


def test_every_name_that_is_referred_to_is_defined() -> None:
    found = objects()
    namespace = found["Namespace"]["metadata"]["name"]
    namespaced = [each["metadata"]["namespace"] for each in all_objects() if each["kind"] not in OF_THE_CLUSTER]
    assert set(namespaced) == {namespace}
    account = {"kind": "ServiceAccount", "name": found["ServiceAccount"]["metadata"]["name"], "namespace": namespace}
    for role in ROLES:
        assert found[f"{role}Binding"]["roleRef"]["name"] == found[role]["metadata"]["name"]
        assert found[f"{role}Binding"]["subjects"] == [account]
    assert pod_spec()["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    budget, deployment = (found[kind]["spec"]["selector"] for kind in ("PodDisruptionBudget", "Deployment"))
    for selector in (
        budget["matchLabels"],
        deployment["matchLabels"],
        *(each["selector"] for each in services().values()),
    ):
        assert selector.items() <= labels.items()


def test_no_role_has_a_wildcard_and_none_enters_pods() -> None:
    for role in ROLES:
        for rule in objects()[role]["rules"]:
            assert not any("*" in word for words in rule.values() for word in words)
            assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(rule["resources"])


def test_the_lease_and_the_secret_of_the_role_are_those_that_the_operator_takes() -> None:
    named = {
        rule["resources"][0]: rule["resourceNames"] for rule in objects()["Role"]["rules"] if "resourceNames" in rule
    }
    assert named == {"leases": [LEASE_NAME], "secrets": [SECRET_NAME]}


def test_agents_may_read_the_lease_and_nothing_else() -> None:
    role, binding = (each for each in all_objects() if is_for_agents(each))
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    assert role["rules"] == [{**rule, "resourceNames": [LEASE_NAME]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}
    assert binding["subjects"] == [group]


def test_the_arguments_are_ones_that_the_program_takes() -> None:
    [container] = pod_spec()["containers"]
    settings = parse_settings(container["args"])
    assert isinstance(settings, OperatorSettings)
    assert settings.health_address.port == ports(container)["health"]


def test_probes_and_services_lead_to_ports_that_the_arguments_open() -> None:
    [container] = pod_spec()["containers"]
    opened = {f"--health-address=:{ports(container)['health']}", f"--report-address=:{ports(container)['reports']}"}
    assert opened <= set(container["args"])
    probes = [container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert set(probes) == {"health"}
    found = {name: [port["targetPort"] for port in spec["ports"]] for name, spec in services().items()}
    assert found == {"valkey-operator-agents": ["reports"], "valkey-operator-metrics": ["health"]}


def ports(container: dict[str, Any]) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container["ports"]}
