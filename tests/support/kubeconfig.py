"""Kubeconfig files for tests."""

from pathlib import Path
from typing import Any

import yaml


def kubeconfig(server: str = "https://192.0.2.1:6443", **changes: Any) -> dict[str, Any]:
    """A sound kubeconfig of one cluster, context and user, with top-level `changes` (`-` written as `_`)."""
    sound = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server}}],
        "contexts": [{"name": "admin@here", "context": {"cluster": "here", "user": "admin", "namespace": "team"}}],
        "users": [{"name": "admin", "user": {"token": "secret"}}],
        "current-context": "admin@here",
    }
    return sound | {name.replace("_", "-"): value for name, value in changes.items()}


def write_kubeconfig(folder: Path, content: object) -> Path:
    path = folder / "kubeconfig.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path
