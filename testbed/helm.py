"""Helm: built from the module proxy's sources when somebody first asks for it (see helm/go.mod)."""

import re
from pathlib import Path

from testbed.layout import REPOSITORY
from testbed.progress import Progress
from testbed.toolchain import GoProgram, built

MODULE = REPOSITORY / "testbed" / "helm"
PACKAGE = "helm.sh/helm/v4/cmd/helm"


def version() -> str:
    """The version that helm/go.mod pins, such as v4.3.1."""
    match = re.search(r"helm\.sh/helm/v4 (v[\d.]+)", (MODULE / "go.mod").read_text())
    if match is None:
        raise ValueError(f"{MODULE / 'go.mod'} pins no helm.sh/helm/v4")
    return match.group(1)


def program() -> GoProgram:
    stamp = f"-X helm.sh/helm/v4/internal/version.version={version()}"
    return GoProgram("helm", MODULE, PACKAGE, ldflags=f"-s -w {stamp}")


def binary() -> Path:
    return built(program(), Progress())
