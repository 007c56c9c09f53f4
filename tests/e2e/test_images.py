"""Every image runs on a node under the name that manifests use, and as an unprivileged user."""

import urllib.request

import pytest

from testbed.images.catalogue import VALKEY_VERSIONS
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import container, pod, server
from tests.e2e.testbed_command import run_testbed, try_testbed

pytestmark = pytest.mark.node_faults

EXPORTER = "oliver006/redis_exporter:latest"


def patch_levels(cluster: Cluster) -> list[str]:
    """The full versions that the nodes have images of, from what they report."""
    images = cluster.get("node", "node0")["status"]["images"]
    names = [name.rpartition(":")[2] for image in images for name in image["names"] or () if "valkey/valkey:" in name]
    return [tag for tag in names if tag.count(".") == 2]


@pytest.mark.usefixtures("layout")
def test_a_server_of_each_version_runs_under_its_tag_and_its_patch_level(cluster: Cluster, namespace: str) -> None:
    patches = patch_levels(cluster)
    assert {patch.rpartition(".")[0] for patch in patches} == set(VALKEY_VERSIONS)
    tags = [*VALKEY_VERSIONS, *patches]
    pods = {f"v{tag.replace('.', '-')}": tag for tag in tags}
    manifests = [pod(name, containers=[server(image=f"valkey/valkey:{tag}")]) for name, tag in pods.items()]
    cluster.apply(*manifests, namespace=namespace)

    cluster.wait_for_pods(namespace, *pods)
    for name, tag in pods.items():
        said = cluster.say_in(namespace, name, "valkey-server", "--version")
        assert f"v={tag}" in said


@pytest.mark.usefixtures("layout")
def test_the_exporter_tells_prometheus_about_the_server_beside_it(cluster: Cluster, namespace: str) -> None:
    exporter = container("exporter", image=EXPORTER, args=["--redis.addr=redis://localhost:6379"])
    cluster.apply(pod("watched", containers=[server(), exporter]), namespace=namespace)
    address = cluster.wait_for_pods(namespace, "watched")[0]["status"]["podIP"]

    def metrics() -> str | None:
        try:
            with urllib.request.urlopen(f"http://{address}:9121/metrics", timeout=5) as reply:
                return str(reply.read().decode())
        except OSError:
            return None

    assert "redis_up 1" in cluster.wait_for("the exporter to answer", metrics, namespace)


@pytest.mark.usefixtures("layout")
def test_an_image_that_nobody_has_is_missing_as_on_a_real_registry(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pod("wrong", containers=[container(image="nobody/nothing:1")]), namespace=namespace)

    def complaint() -> str | None:
        states = cluster.get("pod", "wrong", namespace)["status"].get("containerStatuses", [])
        waiting = [each["state"].get("waiting", {}) for each in states]
        return next((str(each["message"]) for each in waiting if "not found" in each.get("message", "")), None)

    assert "nobody/nothing:1" in cluster.wait_for("a clear answer of the registry", complaint, namespace)


def test_load_brings_an_archive_to_every_node_and_refuses_what_is_none(layout: Layout, cluster: Cluster) -> None:
    archive = run_testbed(layout, "images").splitlines()[0]
    said = run_testbed(layout, "load", archive)
    assert [line.split(":")[0] for line in said.splitlines()] == ["node0", "node1", "node2"]

    refused = try_testbed(layout.name, "load", "/etc/hostname")
    assert refused.returncode == 1
    assert "/etc/hostname is not an OCI image archive" in refused.stderr
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
