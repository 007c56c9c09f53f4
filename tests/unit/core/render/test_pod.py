"""The pod of a node: within the restricted Pod Security profile, and what follows from single fields."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.render import EVERY_FIELD, OWNER, effective, node_manifest, pod_of
from valkey_operator.core.names import NODE_LABEL, ROLE_LABEL
from valkey_operator.core.render.pod import password_source

ALL_CONTAINERS: dict[str, Any] = {"exporter": {"enabled": True}}
PODS: dict[str, dict[str, Any]] = {
    "minimal": {},
    "without a volume": {"persistence": {"enabled": False}},
    "without a password": {"auth": {"disabled": True}},
    "all containers": ALL_CONTAINERS,
    "every field": EVERY_FIELD,
}
ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
pods = pytest.mark.parametrize("pod", [pytest.param(pod_of(**spec), id=name) for name, spec in PODS.items()])


def containers(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(field, [])


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in containers(pod) if each["name"] == name)


def environment(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container(pod, name)["env"]}


@pods
class TestTheRestrictedProfile:
    """Each rule of https://kubernetes.io/docs/concepts/security/pod-security-standards/, for every container."""

    def test_nothing_of_the_host_is_shared(self, pod: dict[str, Any]) -> None:
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        ports = [port for each in containers(pod) for port in each.get("ports", [])]
        assert ports
        assert not any("hostPort" in port or "hostIP" in port for port in ports)

    def test_volumes_are_of_allowed_types(self, pod: dict[str, Any]) -> None:
        for volume in pod["volumes"]:
            assert volume.keys() - {"name"} <= ALLOWED_VOLUMES
            assert len(volume) == 2

    def test_nobody_runs_as_root(self, pod: dict[str, Any]) -> None:
        assert pod["securityContext"]["runAsNonRoot"] is True
        for security in (pod["securityContext"], *(each["securityContext"] for each in containers(pod))):
            assert security.get("runAsUser") != 0
            assert security.get("runAsNonRoot") is not False

    def test_system_calls_are_filtered(self, pod: dict[str, Any]) -> None:
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not any("seccompProfile" in each["securityContext"] for each in containers(pod))

    def test_no_container_can_gain_privileges(self, pod: dict[str, Any]) -> None:
        for each in containers(pod):
            assert each["securityContext"]["allowPrivilegeEscalation"] is False
            assert "privileged" not in each["securityContext"]
            assert "procMount" not in each["securityContext"]

    def test_every_capability_is_dropped(self, pod: dict[str, Any]) -> None:
        assert all(each["securityContext"]["capabilities"] == {"drop": ["ALL"]} for each in containers(pod))

    def test_no_other_module_of_the_kernel_is_loosened(self, pod: dict[str, Any]) -> None:
        loosening = {"seLinuxOptions", "windowsOptions", "appArmorProfile", "sysctls"}
        for security in (pod["securityContext"], *(each["securityContext"] for each in containers(pod))):
            assert not loosening & security.keys()


@pods
def test_no_container_writes_to_its_image(pod: dict[str, Any]) -> None:
    assert all(each["securityContext"]["readOnlyRootFilesystem"] is True for each in containers(pod))


@pods
def test_every_mount_is_of_a_volume_and_every_volume_is_mounted(pod: dict[str, Any]) -> None:
    mounted = {mount["name"] for each in containers(pod) for mount in each.get("volumeMounts", [])}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pods
def test_only_the_agent_gets_a_token_and_a_certificate(pod: dict[str, Any]) -> None:
    assert pod["automountServiceAccountToken"] is False
    for each in containers(pod):
        mounts = {mount["name"] for mount in each.get("volumeMounts", [])}
        assert ({"token", "tls"} <= mounts) is (each["name"] == "agent")
        assert not mounts & {"token", "tls", "auth"} or each["name"] == "agent"


def test_the_profile_is_looked_at_in_all_three_containers() -> None:
    assert [each["name"] for each in containers(pod_of(**ALL_CONTAINERS))] == ["agent", "valkey", "exporter"]


def test_the_agent_is_there_before_the_server_and_stays() -> None:
    [agent] = pod_of()["initContainers"]
    assert (agent["name"], agent["restartPolicy"]) == ("agent", "Always")
    assert "go.conf" in str(agent["lifecycle"]["postStart"]), "the server is started once there is a gate to wait at"


def test_the_agents_image_is_the_operators_unless_the_user_names_one() -> None:
    assert container(pod_of(), "agent")["image"] == "valkey-operator:1.2.3"
    assert container(pod_of(sidecar={"image": "mine"}), "agent")["image"] == "mine"


def test_without_a_volume_the_data_are_in_the_pod() -> None:
    [data] = [volume for volume in pod_of(persistence={"enabled": False})["volumes"] if volume["name"] == "data"]
    assert data == {"name": "data", "emptyDir": {}}
    assert node_manifest(persistence={"enabled": False})["spec"]["persistence"] == {"enabled": False}


def test_without_a_password_nobody_is_given_one() -> None:
    pod = pod_of(auth={"disabled": True}, exporter={"enabled": True})
    assert "auth" not in {volume["name"] for volume in pod["volumes"]}
    assert "VALKEY_AGENT_PASSWORD_FILE" not in environment(pod, "agent")
    assert "REDIS_PASSWORD" not in environment(pod, "exporter")


@pytest.mark.parametrize(
    ("auth", "name", "key"),
    [
        ({}, "cache-auth", "password"),
        ({"secretRef": {"name": "own"}}, "own", "password"),
        ({"secretRef": {"name": "own", "key": "pass"}}, "own", "pass"),
        ({"password": {"secret": {"name": "own", "key": "pass"}}}, "own", "pass"),
    ],
)
def test_the_password_comes_from_where_the_user_said(auth: dict[str, Any], name: str, key: str) -> None:
    pod = pod_of(auth=auth, exporter={"enabled": True})
    [volume] = [volume for volume in pod["volumes"] if volume["name"] == "auth"]
    assert volume["secret"] == {"secretName": name, "items": [{"key": key, "path": "password"}]}
    assert environment(pod, "exporter")["REDIS_PASSWORD"] == {"secretKeyRef": {"name": name, "key": key}}


def test_there_is_no_password_where_authentication_is_disabled() -> None:
    assert password_source(effective(auth={"disabled": True}), OWNER.name) is None


def test_a_grace_period_of_zero_is_not_lost() -> None:
    assert pod_of(terminationGracePeriodSeconds=0)["terminationGracePeriodSeconds"] == 0
    assert "terminationGracePeriodSeconds" not in pod_of()


def test_a_users_labels_are_on_the_pod_but_none_by_which_services_find_it() -> None:
    labels = {"team": "search", ROLE_LABEL: "primary", NODE_LABEL: "other", "valkey.io/cluster": "other"}
    found = node_manifest(labels=labels)["spec"]["podTemplate"]["metadata"]["labels"]
    assert found["team"] == "search"
    assert found[NODE_LABEL] == "cache-0"
    assert found["valkey.io/cluster"] == "cache"
    assert ROLE_LABEL not in found
