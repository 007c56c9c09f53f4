"""OCI image archives: blobs named by their digest, an index that names the image.

Owns: the format, and how a short image name is spelled in full. Refuses to know: where the files come from.
"""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError

MEDIA_TYPE = "application/vnd.oci.image"
# containerd takes the first as the image's name, buildah and others the second.
NAME_ANNOTATIONS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
GZIP_MAGIC = b"\x1f\x8b"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass
class Blobs:
    """What an archive holds, by digest."""

    content: dict[str, bytes] = field(default_factory=dict)

    def add(self, kind: str, data: bytes) -> dict[str, Any]:
        """Keep a blob and return its descriptor."""
        name = digest(data)
        self.content[name] = data
        return {"mediaType": f"{MEDIA_TYPE}.{kind}", "digest": name, "size": len(data)}


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def full_name(name: str) -> str:
    """The name as the kubelet looks it up: a name without a host gets the default one of container runtimes."""
    first, _, rest = name.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if rest else f"docker.io/library/{name}"


def architecture() -> str:
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise TestbedError(f"images can be built for {' and '.join(ARCHITECTURES)}, not for {machine}")
    return ARCHITECTURES[machine]


def write_image(out: Path, names: Sequence[str], layer: bytes, config: Mapping[str, Any]) -> None:
    """An archive of one image with one uncompressed layer, known under each of these names."""
    blobs = Blobs()
    body = {"architecture": architecture(), "os": "linux", "config": dict(config)}
    diffs = {"rootfs": {"type": "layers", "diff_ids": [digest(layer)]}}
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA_TYPE}.manifest.v1+json",
        "config": blobs.add("config.v1+json", encode(body | diffs)),
        # Not compressed: importing is bound by the CPU, and an archive never leaves the machine.
        "layers": [blobs.add("layer.v1.tar", layer)],
    }
    descriptor = blobs.add("manifest.v1+json", encode(manifest))
    write_archive(out, encode(index(descriptor, names)), blobs.content.items())


def index(manifest: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    spelled = [dict.fromkeys(NAME_ANNOTATIONS, full_name(name)) for name in names]
    return {"schemaVersion": 2, "manifests": [{**manifest, "annotations": each} for each in spelled]}


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def write_archive(out: Path, index_json: bytes, blobs: Iterable[tuple[str, bytes]]) -> None:
    with tarfile.open(out, "w") as tar:
        add_member(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add_member(tar, "index.json", index_json)
        for name, data in sorted(blobs):
            add_member(tar, "blobs/" + name.replace(":", "/"), data)


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def repack_layout(layout: Path, out: Path, names: Sequence[str]) -> None:
    """Pack a layout folder that holds one image as an archive of ours: other names, layers not compressed."""
    blobs = Blobs()
    top = json.loads((layout / "index.json").read_bytes())["manifests"][0]
    manifest = json.loads((layout / blob_path(top)).read_bytes())
    blobs.add("config.v1+json", (layout / blob_path(manifest["config"])).read_bytes())
    layers = [uncompressed((layout / blob_path(layer)).read_bytes()) for layer in manifest["layers"]]
    manifest["layers"] = [blobs.add("layer.v1.tar", layer) for layer in layers]
    write_archive(out, encode(index(blobs.add("manifest.v1+json", encode(manifest)), names)), blobs.content.items())


def uncompressed(layer: bytes) -> bytes:
    return gzip.decompress(layer) if layer.startswith(GZIP_MAGIC) else layer


def read_names(archive: Path) -> list[str]:
    """The full names of the images in an archive."""
    manifests = read_json(archive, "index.json")["manifests"]
    return [manifest["annotations"][NAME_ANNOTATIONS[0]] for manifest in manifests]


def read_manifest(archive: Path) -> dict[str, Any]:
    return read_json(archive, blob_path(read_json(archive, "index.json")["manifests"][0]))


def read_config(archive: Path) -> dict[str, Any]:
    return read_json(archive, blob_path(read_manifest(archive)["config"]))


def layer_paths(archive: Path) -> list[str]:
    """Where in the archive its layers are, the lowest first."""
    return [blob_path(layer) for layer in read_manifest(archive)["layers"]]


def blob_path(descriptor: Mapping[str, Any]) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def read_json(archive: Path, member: str) -> dict[str, Any]:
    with tarfile.open(archive) as tar:
        content = tar.extractfile(member)
        document: dict[str, Any] = json.load(content) if content else {}
        return document
