"""kubectl against one testbed."""

import json
import subprocess
from typing import Any

from testbed import commands, kubernetes
from testbed.layout import Layout


def argv(layout: Layout, *args: str) -> list[str]:
    return [str(kubernetes.binary()), "kubectl", f"--kubeconfig={layout.kubeconfig()}", *args]


def attempt(layout: Layout, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return commands.attempt(argv(layout, *args), stdin=stdin)


def output(layout: Layout, *args: str, stdin: str | None = None) -> str:
    return commands.output(argv(layout, *args), stdin=stdin)


def get(layout: Layout, *args: str) -> Any:
    """An object or a list of them, as the API server has it."""
    return json.loads(output(layout, "get", *args, "--output=json"))


def apply(layout: Layout, objects: list[dict[str, Any]]) -> None:
    bundle = {"apiVersion": "v1", "kind": "List", "items": objects}
    output(layout, "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=json.dumps(bundle))
