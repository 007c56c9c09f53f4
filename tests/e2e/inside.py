"""A program of this machine that runs as if it were in a pod: in a node's network, with the cluster's DNS."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.layout import REPOSITORY, Layout

ENDS_WITHIN_S = 60
UNDER_WAY = "under way"
# A mount of its own: this machine's /etc/resolv.conf stays as it is for everybody else.
_ENTER = 'mount --bind "$1" /etc/resolv.conf && shift && exec nsenter --net="$0" "$@"'


class Inside:
    """A program that says so once it is under way, goes on until its input ends, and then says JSON on its last line.

    Libraries may log between those lines.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def wait_until_under_way(self) -> None:
        assert self._process.stdout is not None
        said = iter(self._process.stdout.readline, "")
        assert f"{UNDER_WAY}\n" in said, f"it ended at once, with {self._process.wait(ENDS_WITHIN_S)}"

    def end(self, within_s: float = ENDS_WITHIN_S) -> Any:
        """What it says at last."""
        said, _ = self._process.communicate("\n", timeout=within_s)
        assert self._process.returncode == 0, said
        return json.loads(said.splitlines()[-1])


@contextlib.contextmanager
def inside(
    layout: Layout, folder: Path, namespace: str, module: str, *arguments: str, **secrets: str
) -> Iterator[Inside]:
    """A module of ours, run on the first node; ended with the block."""
    resolv = folder / "resolv.conf"
    search = f"{namespace}.svc.cluster.local svc.cluster.local cluster.local"
    resolv.write_text(f"nameserver {layout.dns_service_ip}\nsearch {search}\noptions ndots:5\n")
    program = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", _ENTER, str(layout.node(0).netns), str(resolv), *program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **secrets},
    )
    try:
        yield Inside(process)
    finally:
        process.kill()
        process.communicate(timeout=ENDS_WITHIN_S)
