"""The chart as Helm renders it; needs the network unless the cache has Helm. On a cluster: tests/e2e/test_chart.py."""

from typing import Any

import pytest

from tests.support.chart import (
    KEPT,
    ONLY_NAMESPACED,
    of_kind,
    operator_container,
    refusal,
    render,
    run_helm,
    the,
    try_rendering,
)
from tools.chart import CHART
from tools.plain_manifests import plain_manifests
from tools.yaml_text import REPOSITORY
from valkey_operator.api.crd import KINDS
from valkey_operator.core.names import KIND_LABEL

pytestmark = [pytest.mark.images, pytest.mark.timeout(900)]

EVERYTHING = ("serviceMonitor.enabled=true", "networkPolicy.enabled=true", "defaults.durability=Quorum")
OF_THE_CLUSTER = {"ClusterRole", "ClusterRoleBinding", *KEPT}
OWN_ROLE, LEASE_ROLE = "demo-valkey-operator", "demo-valkey-operator-lease"
MODES = pytest.mark.parametrize("mode", [(), ("watchNamespace=shop",)], ids=["cluster", "namespace"])


def resources_of(role: Any) -> set[str]:
    return {word for rule in role["rules"] for word in rule["resources"]}


def test_the_plain_manifests_are_what_the_chart_says() -> None:
    for name, text in plain_manifests().items():
        assert (REPOSITORY / name).read_text() == text, f"{name} is stale: run `make generate` and review the diff"


def test_helm_finds_no_fault_in_the_chart() -> None:
    done = run_helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


@MODES
def test_no_right_is_a_wildcard_and_none_enters_pods(mode: tuple[str, ...]) -> None:
    objects = render(*mode, *EVERYTHING)
    rules = [rule for kind in ("Role", "ClusterRole") for role in of_kind(objects, kind) for rule in role["rules"]]
    assert len(rules) > 10
    for rule in rules:
        assert not any("*" in word for words in rule.values() for word in words), rule
        assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(rule["resources"]), rule


@MODES
def test_every_rule_says_why_it_is_there(mode: tuple[str, ...]) -> None:
    lines = [line.strip() for line in try_rendering(*mode).stdout.splitlines()]
    rules = [index for index, line in enumerate(lines) if line.startswith("- apiGroups: [")]
    # The second rule of a pair, which narrows the first down to a name, stands under the same comment.
    unexplained = [index for index in rules if not lines[index - 1].startswith("#")]
    assert all("resourceNames" in lines[index + 2] for index in unexplained)


def test_by_default_the_whole_cluster_is_managed() -> None:
    objects = render()
    assert len(of_kind(objects, "ClusterRole")) == 1
    assert {role["metadata"]["name"] for role in of_kind(objects, "Role")} == {OWN_ROLE, LEASE_ROLE}
    assert not any(argument.startswith("--namespace") for argument in operator_container(objects)["args"])


def test_a_release_for_one_namespace_has_rights_there_and_to_its_own_things_only() -> None:
    objects = render("watchNamespace=shop")
    assert not of_kind(objects, "ClusterRole")
    roles = {role["metadata"]["name"]: role for role in of_kind(objects, "Role")}
    assert {name: role["metadata"]["namespace"] for name, role in roles.items()} == {
        OWN_ROLE: "ops",
        LEASE_ROLE: "ops",
        f"{OWN_ROLE}-workloads": "shop",
    }
    assert resources_of(roles[OWN_ROLE]) == {"leases", "secrets", "valkeyoperatordefaults"}
    assert not {"nodes", "storageclasses"} & resources_of(roles[f"{OWN_ROLE}-workloads"])
    for binding in of_kind(objects, "RoleBinding"):
        if binding["roleRef"]["name"] != LEASE_ROLE:
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": OWN_ROLE, "namespace": "ops"}]
    assert "--namespace=shop" in operator_container(objects)["args"]


@pytest.mark.parametrize(
    ("settings", "group"),
    [([], "system:serviceaccounts"), (["watchNamespace=shop"], "system:serviceaccounts:shop")],
)
def test_agents_may_see_whether_an_operator_is_there_and_nothing_else(settings: list[str], group: str) -> None:
    objects = render(*settings)
    [role] = [each for each in of_kind(objects, "Role") if each["metadata"]["name"] == LEASE_ROLE]
    [rule] = role["rules"]
    assert (rule["resources"], rule["resourceNames"], rule["verbs"]) == (["leases"], ["valkey-operator"], ["get"])
    [binding] = [each for each in of_kind(objects, "RoleBinding") if each["roleRef"]["name"] == LEASE_ROLE]
    assert [subject["name"] for subject in binding["subjects"]] == [group]


def test_a_release_without_definitions_and_policies_for_one_namespace_has_nothing_of_the_cluster() -> None:
    kinds = {each["kind"] for each in render("watchNamespace=shop", *ONLY_NAMESPACED, *EVERYTHING)}
    assert not kinds & OF_THE_CLUSTER


def test_a_release_may_manage_its_own_namespace() -> None:
    roles = of_kind(render("watchNamespace=ops"), "Role")
    assert {role["metadata"]["name"] for role in roles} == {OWN_ROLE, LEASE_ROLE, f"{OWN_ROLE}-workloads"}


def test_the_operator_is_told_where_agents_find_it_and_which_image_they_are() -> None:
    container = operator_container(render("image.repository=example/operator", "image.tag=1.2"))
    assert container["image"] == "example/operator:1.2"
    assert set(container["args"]) == {
        "operator",
        "--health-address=:8081",
        "--report-address=:9444",
        "--report-service=demo-valkey-operator-agents.ops.svc:9444",
        "--agent-image=example/operator:1.2",
        "--operator-namespace=ops",
        "--tls-dir=/run/valkey-operator",
        "--log-level=info",
    }
    assert [each["name"] for each in container["env"]] == ["POD_IP"]


def test_an_image_is_chosen_by_digest_before_tag_and_the_agents_may_be_another() -> None:
    digest = f"sha256:{'a' * 64}"
    container = operator_container(render(f"image.digest={digest}", "image.tag=v1", "agent.image=example/agent:2"))
    assert container["image"] == f"valkey-operator@{digest}"
    assert "--agent-image=example/agent:2" in container["args"]


def test_definitions_and_policies_are_those_of_config_and_stay_after_the_release() -> None:
    objects = render()
    definitions = of_kind(objects, "CustomResourceDefinition")
    assert {each["spec"]["names"]["plural"] for each in definitions} == {kind.plural for kind in KINDS}
    policies = of_kind(objects, "ValidatingAdmissionPolicy")
    assert len(policies) == 3
    for each in [*definitions, *policies]:
        assert each["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_defaults_are_an_object_of_their_own_and_by_default_there_is_none() -> None:
    assert not of_kind(render(), "ValkeyOperatorDefaults")
    made = the(render("defaults.durability=Quorum"), "ValkeyOperatorDefaults")
    assert made["metadata"]["name"] == "valkey-operator-defaults"
    assert made["spec"] == {"durability": "Quorum"}


def test_labels_annotations_and_places_reach_the_pod() -> None:
    objects = render(
        "commonLabels.team=data",
        "commonLabels.app\\.kubernetes\\.io/name=not-this",
        "podAnnotations.note=x",
        "priorityClassName=high",
        "nodeSelector.disk=ssd",
        "tolerations[0].key=dedicated",
        "imagePullSecrets[0].name=registry",
        "affinity.podAntiAffinity.x=y",
        "topologySpreadConstraints[0].topologyKey=rack",
    )
    template = the(objects, "Deployment")["spec"]["template"]
    assert template["metadata"]["labels"]["team"] == "data"
    assert template["metadata"]["labels"]["app.kubernetes.io/name"] == "valkey-operator"
    assert template["metadata"]["annotations"]["note"] == "x"
    spec = template["spec"]
    assert (spec["priorityClassName"], spec["nodeSelector"]) == ("high", {"disk": "ssd"})
    assert (spec["tolerations"], spec["imagePullSecrets"]) == ([{"key": "dedicated"}], [{"name": "registry"}])
    assert spec["affinity"] == {"podAntiAffinity": {"x": "y"}}
    assert spec["topologySpreadConstraints"] == [{"topologyKey": "rack"}]
    assert all(each["metadata"]["labels"]["team"] == "data" for each in objects if each["kind"] not in KEPT)


def test_the_network_policy_lets_agents_report_and_prometheus_read() -> None:
    spec = the(render("networkPolicy.enabled=true", "watchNamespace=shop"), "NetworkPolicy")["spec"]
    agents, prometheus = spec["ingress"]
    assert agents["ports"] == [{"port": "reports"}]
    [peer] = agents["from"]
    assert peer["podSelector"] == {"matchExpressions": [{"key": KIND_LABEL, "operator": "Exists"}]}
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    assert prometheus == {"ports": [{"port": "health"}], "from": [{"namespaceSelector": {}}]}
    everywhere = the(render("networkPolicy.enabled=true"), "NetworkPolicy")["spec"]["ingress"][0]["from"]
    assert everywhere == [peer | {"namespaceSelector": {}}]


def test_a_service_monitor_chooses_the_service_for_metrics_alone() -> None:
    objects = render("serviceMonitor.enabled=true", "serviceMonitor.labels.release=prometheus")
    monitor = the(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    chosen = [each for each in of_kind(objects, "Service") if selects(monitor, each)]
    assert [each["metadata"]["name"] for each in chosen] == ["demo-valkey-operator-metrics"]


def test_agents_find_pods_that_are_not_ready_yet() -> None:
    [agents] = [each["spec"] for each in of_kind(render(), "Service") if each["metadata"]["name"].endswith("-agents")]
    assert agents["publishNotReadyAddresses"] is True
    assert agents["clusterIP"] == "None"


def test_names_of_digits_stay_text() -> None:
    objects = render("watchNamespace=shop", release="7", namespace="456")
    namespaces = {each["metadata"].get("namespace") for each in objects if each["kind"] not in OF_THE_CLUSTER}
    assert namespaces == {"shop", "456"}
    assert the(objects, "Deployment")["metadata"]["labels"]["app.kubernetes.io/instance"] == "7"


REFUSED = [
    ("a typo", "replica=3", "additional properties 'replica' not allowed"),
    ("a typo further down", "image.tags=dev", "at '/image': additional properties 'tags' not allowed"),
    ("a text for a number", "replicas=many", "at '/replicas': got string, want integer"),
    ("a text for a switch", "crds.install=maybe", "at '/crds/install': got string, want boolean"),
    ("an unknown level", "logLevel=loud", "at '/logLevel': value must be one of 'debug', 'info', 'warning', 'error'"),
    ("what is no namespace", "watchNamespace=My_Shop", "at '/watchNamespace': 'My_Shop' does not match pattern"),
    ("a budget of none", "podDisruptionBudget.maxUnavailable=0", "at '/podDisruptionBudget/maxUnavailable'"),
    ("a label that is no text", "podLabels.a=1", "at '/podLabels/a': got number, want string"),
]


@pytest.mark.parametrize(("value", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_value_that_cannot_be_meant_is_refused_with_its_place_and_what_is_right(value: str, said: str) -> None:
    assert said in refusal(value)


def test_a_kubernetes_without_native_sidecars_is_refused() -> None:
    done = run_helm("template", "demo", str(CHART), "--kube-version=1.28.9")
    assert done.returncode != 0
    assert "chart requires kubeVersion: >=1.29.0-0" in done.stderr


def test_a_kubernetes_without_admission_policies_gets_none() -> None:
    done = run_helm("template", "demo", str(CHART), "--kube-version=1.29.0")
    assert "kind: CustomResourceDefinition" in done.stdout
    assert "ValidatingAdmissionPolicy" not in done.stdout


def selects(monitor: dict[str, Any], service: dict[str, Any]) -> bool:
    labels: dict[str, str] = service["metadata"]["labels"]
    wanted: dict[str, str] = monitor["spec"]["selector"]["matchLabels"]
    return wanted.items() <= labels.items()
