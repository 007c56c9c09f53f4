"""The archive format: what containerd and buildah rely on."""

import gzip
import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import TestbedError
from testbed.images import oci
from testbed.images.tree import Entry, layer

CONFIG = {"Cmd": ["valkey-server"], "ExposedPorts": {"6379/tcp": {}}}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    oci.write_image(tmp_path / "image.tar", ["valkey/valkey:9.1", "valkey/valkey:9.1.2"], layer([Entry("a")]), CONFIG)
    return tmp_path / "image.tar"


def blobs(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        found = {m.name: tar.extractfile(m) for m in tar if m.name.startswith("blobs/")}
        return {name: content.read() for name, content in found.items() if content}


def test_every_blob_is_named_by_its_own_digest(archive: Path) -> None:
    named = blobs(archive)
    assert len(named) == 3
    assert all(name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}" for name, data in named.items())


def test_index_manifest_and_config_point_to_each_other_with_true_sizes(archive: Path) -> None:
    named = blobs(archive)
    manifest = oci.read_manifest(archive)
    index = oci.read_json(archive, "index.json")
    for descriptor in (*index["manifests"], manifest["config"], *manifest["layers"]):
        assert len(named[oci.blob_path(descriptor)]) == descriptor["size"]
    assert oci.read_config(archive)["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    assert oci.read_config(archive)["config"] == CONFIG


def test_one_content_has_two_names(archive: Path) -> None:
    digests = {manifest["digest"] for manifest in oci.read_json(archive, "index.json")["manifests"]}
    assert len(digests) == 1
    assert oci.read_names(archive) == ["docker.io/valkey/valkey:9.1", "docker.io/valkey/valkey:9.1.2"]


def test_the_same_input_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    oci.write_image(tmp_path / "again.tar", ["valkey/valkey:9.1", "valkey/valkey:9.1.2"], layer([Entry("a")]), CONFIG)
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("valkey/valkey:9.1", "docker.io/valkey/valkey:9.1"),
        ("valkey-operator:dev", "docker.io/library/valkey-operator:dev"),
        ("localhost/pause:1", "localhost/pause:1"),
        ("example.org/a/b:1", "example.org/a/b:1"),
        ("example:5000/b:1", "example:5000/b:1"),
    ],
)
def test_a_short_name_is_spelled_as_the_kubelet_looks_it_up(short: str, full: str) -> None:
    assert oci.full_name(short) == full


def test_a_machine_of_another_kind_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(TestbedError, match="not for riscv64"):
        oci.architecture()


def test_repacking_keeps_config_and_content_and_undoes_compression(tmp_path: Path) -> None:
    content = layer([Entry("a")])
    layout = write_layout(tmp_path / "layout", content)
    oci.repack_layout(layout, tmp_path / "image.tar", ["x:1"])
    (path,) = oci.layer_paths(tmp_path / "image.tar")
    assert blobs(tmp_path / "image.tar")[path] == content
    assert oci.read_config(tmp_path / "image.tar") == {"rootfs": {"diff_ids": [oci.digest(content)]}}
    assert oci.read_names(tmp_path / "image.tar") == ["docker.io/library/x:1"]


def write_layout(layout: Path, content: bytes) -> Path:
    """What buildah writes: an index of one image, whose layer is compressed."""
    kept = oci.Blobs()
    config = kept.add("config.v1+json", oci.encode({"rootfs": {"diff_ids": [oci.digest(content)]}}))
    compressed = kept.add("layer.v1.tar+gzip", gzip.compress(content))
    manifest: dict[str, Any] = {"schemaVersion": 2, "config": config, "layers": [compressed]}
    top = kept.add("manifest.v1+json", oci.encode(manifest))
    (layout / "blobs/sha256").mkdir(parents=True)
    (layout / "index.json").write_text(json.dumps({"manifests": [top]}))
    for name, data in kept.content.items():
        (layout / "blobs" / name.replace(":", "/")).write_bytes(data)
    return layout
