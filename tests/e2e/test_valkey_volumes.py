"""Volumes: they grow under a running server, never shrink, and say so where their class does not let them grow."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest
from tests.e2e.valkeys import Shop, valkey

MEBIBYTE = 1 << 20


def size_of_data(shop: Shop, node: str) -> int:
    """The size of the file system that the server of a node writes to, in MiB."""
    name = shop.pod_of(node)["metadata"]["name"]
    told = shop.cluster.say_in(shop.namespace, name, "stat", "--file-system", "--format=%b %S", "/data")
    blocks, size = map(int, told.split())
    return blocks * size // MEBIBYTE


def wait_for_size(shop: Shop, node: str, least: int) -> None:
    def grown() -> bool | None:
        return True if size_of_data(shop, node) >= least else None

    shop.cluster.wait_for(f"the file system of {node} to have {least} MiB", grown, shop.namespace, deadline_s=90)


@pytest.fixture
def rigid(cluster: Cluster) -> Iterator[str]:
    """A StorageClass whose volumes cannot grow."""
    standard = cluster.get("storageclass", "standard")
    manifest: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "rigid-test"},
        **{field: standard[field] for field in ("provisioner", "volumeBindingMode", "reclaimPolicy")},
        "allowVolumeExpansion": False,
    }
    cluster.apply(manifest, namespace="default")
    yield "rigid-test"
    cluster.kubectl("delete", "storageclass", "rigid-test")


def test_a_volume_grows_under_the_running_server_and_cannot_shrink(shop: Shop) -> None:
    shop.apply(valkey(replicas=2, size="256Mi"))
    shop.wait_for_state("Ready")
    before = shop.uids()
    assert size_of_data(shop, "cart-0") <= 256
    shop.write(100)

    shop.patch("cart", {"persistence": {"size": "400Mi"}})
    for node in ("cart-0", "cart-1"):
        wait_for_size(shop, node, 300)
        assert shop.get("pvc", f"{node}-data")["spec"]["resources"]["requests"]["storage"] == "400Mi"
    shop.wait_for_state("Ready")
    assert shop.uids() == before
    shop.wait_for_copies(100, "cart-0", "cart-1")

    patch = '--patch={"spec":{"persistence":{"size":"300Mi"}}}'
    refused = shop.cluster.try_kubectl(
        "patch", "valkey", "cart", f"--namespace={shop.namespace}", "--type=merge", patch
    )
    assert refused.returncode != 0
    assert "persistence.size is 300Mi and was 400Mi: a volume can only grow; give at least 400Mi" in refused.stderr


def test_a_volume_that_its_class_does_not_let_grow_is_told_until_it_may(shop: Shop, rigid: str) -> None:
    shop.apply(valkey(persistence={"storageClassName": rigid}))
    shop.wait_for_state("Ready")
    before = shop.uids()

    shop.patch("cart", {"persistence": {"size": "320Mi"}, "config": {"hz": 12}})
    condition = shop.wait_for_condition("VolumeRefused", "True")
    assert "Volume cart-0-data stays at 256Mi, and 320Mi is refused" in condition["message"]
    assert "Set allowVolumeExpansion: true on its StorageClass" in condition["message"]
    assert shop.wait_for_state("Degraded")["reason"] == "VolumeRefused"
    assert shop.condition("Degraded")["status"] == "True"
    assert (shop.say("cart-0", "PING"), shop.uids()) == ("PONG", before)
    # The rest of the spec is carried out.
    assert "hz 12" in shop.get("configmap", "cart-0-config")["data"]["valkey.conf"]

    patch = '--patch={"allowVolumeExpansion":true}'
    shop.cluster.kubectl("patch", "storageclass", rigid, "--type=merge", patch)
    shop.wait_for_state("Ready")
    assert shop.condition("VolumeRefused") is None
    wait_for_size(shop, "cart-0", 270)
    assert shop.uids() == before
