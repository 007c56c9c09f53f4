"""The chart on a real API server: accepted, installed, changed and removed beside the release that is there already.

Definitions and policies belong to that one, so releases here go without, but for the one that is to leave them behind.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.custom_resources import install
from tests.support.chart import KEPT, ONLY_NAMESPACED, Objects, of_kind, render, run_helm, settings, the
from tools.chart import CHART
from tools.yaml_text import REPOSITORY

IMAGE = "image.tag=dev"
OWNERSHIP = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
MODES = pytest.mark.parametrize("mode", ["cluster", "namespace"])


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Cluster) -> None:
    install(cluster)


@pytest.fixture
def restricted(cluster: Cluster, namespace: str) -> str:
    """A namespace that takes no pod outside of the restricted profile."""
    profile = [f"pod-security.kubernetes.io/{way}=restricted" for way in ("enforce", "warn")]
    cluster.kubectl("label", "namespace", namespace, *profile)
    return namespace


@pytest.fixture
def shop(cluster: Cluster) -> Iterator[str]:
    with cluster.namespace("shop") as name:
        yield name


@pytest.fixture
def release(cluster: Cluster, restricted: str) -> Iterator[str]:
    """The name of a release in a namespace of its own; what it has in the whole cluster is named after it."""
    yield restricted
    helm(cluster, "uninstall", restricted, f"--namespace={restricted}", "--ignore-not-found")


def helm(cluster: Cluster, *args: str) -> str:
    done = run_helm(*args, kubeconfig=str(cluster.kubeconfig))
    assert done.returncode == 0, done.stderr
    return done.stdout


def upgrade(cluster: Cluster, release: str, *values: str, flags: tuple[str, ...] = ()) -> str:
    place = f"--namespace={release}"
    return helm(cluster, "upgrade", "--install", release, str(CHART), place, *settings((IMAGE, *values)), *flags)


def dry_run(cluster: Cluster, objects: Objects) -> subprocess.CompletedProcess[str]:
    """What the API server says; a field that it does not know is an error."""
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    # Not as a List: kubectl looks into that by itself.
    documents = "".join(f"---\n{json.dumps(each)}\n" for each in objects)
    return cluster.try_kubectl("apply", *flags, "--filename=-", stdin=documents)


@dataclass(frozen=True)
class Account:
    """The operator's identity in a release."""

    cluster: Cluster
    release: str

    def may(self, verb: str, resource: str, place: str) -> bool:
        """Whether it has a right; `place` is a flag of kubectl."""
        user = f"--as=system:serviceaccount:{self.release}:{self.release}-valkey-operator"
        return self.cluster.try_kubectl("auth", "can-i", verb, resource, place, user).stdout.strip() == "yes"


def operator_pods(cluster: Cluster, release: str) -> list[Manifest]:
    selector = f"app.kubernetes.io/instance={release}"
    found: list[Manifest] = cluster.get("pods", namespace=release, selector=selector)["items"]
    return found


def wait_for_pods_of(cluster: Cluster, release: str, count: int) -> list[Manifest]:
    def made() -> list[Manifest] | None:
        pods = operator_pods(cluster, release)
        return pods if len(pods) == count else None

    return cluster.wait_for(f"{count} pods of the operator", made, release)


@MODES
def test_the_api_server_takes_every_object_and_knows_every_field(
    cluster: Cluster, restricted: str, shop: str, mode: str
) -> None:
    watched = () if mode == "cluster" else (f"watchNamespace={shop}",)
    extra = ("networkPolicy.enabled=true", "defaults.durability=Quorum")
    done = dry_run(cluster, render(*watched, *extra, release=restricted, namespace=restricted))
    # A warning is how the API server tells of a pod that the namespace would refuse.
    assert (done.returncode, done.stderr) == (0, "")


def test_the_plain_manifests_are_taken_too(cluster: Cluster) -> None:
    files = [file for folder in ("rbac", "deploy") for file in sorted((REPOSITORY / "config" / folder).iterdir())]
    done = dry_run(cluster, [each for file in files for each in yaml.safe_load_all(file.read_text())])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_field_that_kubernetes_does_not_know_would_be_noticed(cluster: Cluster, restricted: str) -> None:
    objects = render(*ONLY_NAMESPACED, release=restricted, namespace=restricted)
    the(objects, "Deployment")["spec"]["replica"] = 1
    assert "field not declared in schema" in dry_run(cluster, objects).stderr


def test_the_operators_pods_are_taken_by_a_namespace_that_enforces_the_restricted_profile(
    cluster: Cluster, release: str
) -> None:
    upgrade(cluster, release, *ONLY_NAMESPACED, f"watchNamespace={release}")
    for pod in wait_for_pods_of(cluster, release, 2):
        mounts = {each["mountPath"] for each in pod["spec"]["containers"][0]["volumeMounts"]}
        assert mounts == {"/run/valkey-operator", "/var/run/secrets/kubernetes.io/serviceaccount"}


def test_an_upgrade_changes_what_the_values_say_and_removes_what_they_no_longer_ask_for(
    cluster: Cluster, release: str
) -> None:
    upgrade(cluster, release, *ONLY_NAMESPACED, f"watchNamespace={release}", "defaults.durability=Cache")
    made = cluster.get("valkeyoperatordefaults", "valkey-operator-defaults", release)
    assert made["spec"] == {"durability": "Cache"}

    changed = ("replicas=1", "logLevel=debug", "podDisruptionBudget.enabled=false")
    upgrade(cluster, release, *ONLY_NAMESPACED, f"watchNamespace={release}", *changed)

    deployment = the(cluster.get("deployments", namespace=release)["items"], "Deployment")
    assert deployment["spec"]["replicas"] == 1
    assert "--log-level=debug" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    for gone in ("poddisruptionbudgets", "valkeyoperatordefaults"):
        assert not cluster.get(gone, namespace=release)["items"]


def test_an_operator_for_one_namespace_has_no_right_in_another(cluster: Cluster, release: str, shop: str) -> None:
    upgrade(cluster, release, *ONLY_NAMESPACED, f"watchNamespace={shop}")
    account = Account(cluster, release)
    there, own, elsewhere = (f"--namespace={each}" for each in (shop, release, "default"))

    assert account.may("list", "secrets", there)
    assert account.may("get", "secrets/valkey-operator-ca", own)
    assert account.may("watch", "valkeyoperatordefaults.valkey.io", own)
    for place in (own, elsewhere, "--all-namespaces"):
        assert not account.may("list", "secrets", place)
        assert not account.may("list", "valkeys.valkey.io", place)
    assert not account.may("list", "nodes", elsewhere)


def test_an_operator_for_the_cluster_may_manage_everywhere_and_enter_no_pod(cluster: Cluster, release: str) -> None:
    upgrade(cluster, release, *ONLY_NAMESPACED, "replicas=0")
    account = Account(cluster, release)

    assert account.may("list", "secrets", "--all-namespaces")
    assert account.may("list", "nodes", "--all-namespaces")
    for verb, what in (("create", "pods/exec"), ("create", "pods"), ("delete", "valkeys.valkey.io"), ("get", "leases")):
        assert not account.may(verb, what, "--namespace=default"), f"{verb} {what}"


@pytest.fixture
def owners(cluster: Cluster) -> Iterator[None]:
    """Definitions and policies belong to the same release after the test as before it."""
    names = [f"{each['kind']}/{each['metadata']['name']}" for kind in KEPT for each in of_kind(render(), kind)]
    before = {name: cluster.get(name)["metadata"].get("annotations", {}) for name in names}
    yield
    for name, annotations in before.items():
        changes = {key: annotations.get(key) for key in OWNERSHIP}
        cluster.kubectl("patch", name, "--type=merge", "--patch", json.dumps({"metadata": {"annotations": changes}}))


@pytest.mark.usefixtures("owners")
def test_uninstalling_leaves_the_definitions_and_what_was_made_by_them(cluster: Cluster, release: str) -> None:
    upgrade(cluster, release, "replicas=0", flags=("--take-ownership", "--force-conflicts"))
    example = {"apiVersion": "valkey.io/v1alpha1", "kind": "Valkey", "metadata": {"name": "kept"}}
    cluster.apply(example | {"spec": {"replicas": 0}}, namespace=release)

    said = helm(cluster, "uninstall", release, f"--namespace={release}")

    assert "[CustomResourceDefinition] valkeys.valkey.io" in said
    assert cluster.get("valkey", "kept", release)["metadata"]["name"] == "kept"
    assert not cluster.get("deployments", namespace=release)["items"]
    assert f"{release}-valkey-operator-workloads" not in cluster.kubectl("get", "clusterroles", "--output=name")
    cluster.kubectl("delete", "valkey", "kept", f"--namespace={release}")
