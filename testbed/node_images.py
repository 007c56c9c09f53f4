"""Images on nodes: there is no registry, so archives are imported into each node's containerd."""

import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

from testbed import node
from testbed.errors import TestbedError
from testbed.layout import NodeLayout

NAME_ANNOTATION = "io.containerd.image.name"


def load(target: NodeLayout, archives: Iterable[Path]) -> None:
    """Import what the node does not have yet, or has with other content."""
    node.wait_for_runtime(target)
    present = image_digests(target)
    for archive in archives:
        wanted = digests_in(archive)
        if not wanted.items() <= present.items():
            import_archive(target, archive)


def import_archive(target: NodeLayout, archive: Path) -> None:
    done = node.ctr(target, "images", "import", str(archive))
    if done.returncode:
        raise TestbedError(f"{target.name} can't import {archive}: {done.stderr.strip()[-500:]}")


def image_digests(target: NodeLayout) -> dict[str, str]:
    lines = node.ctr(target, "images", "list").stdout.splitlines()[1:]
    return {name: digest for name, _, digest, *_ in map(str.split, lines)}


def digests_in(archive: Path) -> dict[str, str]:
    """The names in an OCI archive, each with the digest that it stands for."""
    try:
        with tarfile.open(archive) as tar:
            index = tar.extractfile("index.json")
            manifests = json.load(index)["manifests"] if index else []
    except (OSError, KeyError, tarfile.TarError, json.JSONDecodeError) as problem:
        raise TestbedError(f"{archive} is not an OCI image archive ({problem})") from problem
    return {m["annotations"][NAME_ANNOTATION]: m["digest"] for m in manifests if NAME_ANNOTATION in m["annotations"]}
