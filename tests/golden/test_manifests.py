"""config/rbac and config/deploy as applied: complete, consistent, within the Pod Security profile of the namespace."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import codecs

from valkey_operator.cli.engine import LEASE_NAME
from valkey_operator.cli.settings import OperatorSettings, parse_settings

CONFIG = Path(__file__).parents[2] / "config"
WRITTEN_BY_HAND = ("rbac", "deploy")
FILES = sorted(file for folder in WRITTEN_BY_HAND for file in (CONFIG / folder).glob("*.yaml"))

OF_THE_CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding"}


def objects() -> dict[str, dict[str, Any]]:
    """Every object that is written by hand, by kind; today there is one of each."""
    found = [each for file in FILES for each in yaml.safe_load_all(file.read_text())]
    by_kind = {each["kind"]: each for each in found}
    assert len(by_kind) == len(found)
    return by_kind


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
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & spec.keys()
    for container in spec["containers"]:
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert not any("hostPort" in port for port in container["ports"])


def test_every_name_that_is_referred_to_is_defined() -> None:
    found = objects()
    namespace = found["Namespace"]["metadata"]["name"]
    namespaced = [each["metadata"]["namespace"] for kind, each in found.items() if kind not in OF_THE_CLUSTER]
    assert set(namespaced) == {namespace}
    account = {"kind": "ServiceAccount", "name": found["ServiceAccount"]["metadata"]["name"], "namespace": namespace}
    for role in ("Role", "ClusterRole"):
        assert found[f"{role}Binding"]["roleRef"]["name"] == found[role]["metadata"]["name"]
        assert found[f"{role}Binding"]["subjects"] == [account]
    assert pod_spec()["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_no_role_has_a_wildcard() -> None:
    for role in ("Role", "ClusterRole"):
        for rule in objects()[role]["rules"]:
            assert not any("*" in words for words in rule.values())


def test_the_lease_of_the_role_is_the_one_that_the_operator_takes() -> None:
    named = [rule["resourceNames"] for rule in objects()["Role"]["rules"] if "resourceNames" in rule]
    assert named == [[LEASE_NAME]]


def test_the_arguments_are_ones_that_the_program_takes() -> None:
    [container] = pod_spec()["containers"]
    settings = parse_settings(container["args"])
    assert isinstance(settings, OperatorSettings)
    [port] = container["ports"]
    assert settings.health_address.port == port["containerPort"]
    probes = [container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert set(probes) == {port["name"]}
