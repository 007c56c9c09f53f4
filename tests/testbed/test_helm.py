"""The Helm that the testbed builds; needs the network unless the cache has it."""

import os
import subprocess

import pytest

from testbed import helm
from testbed.layout import REPOSITORY


def run_helm(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    unset = {key: value for key, value in os.environ.items() if key not in {"KUBECONFIG", "TESTBED_NAME"}}
    argv = [str(REPOSITORY / "bin" / "helm"), *args]
    return subprocess.run(argv, check=False, text=True, capture_output=True, env=unset | environment)


def test_helm_is_a_tool_of_a_module_whose_sums_are_on_file() -> None:
    sums = (helm.MODULE / "go.sum").read_text()
    assert f"helm.sh/helm/v4 {helm.version()} h1:" in sums


@pytest.mark.images
@pytest.mark.timeout(900)
def test_helm_is_the_version_that_is_pinned() -> None:
    assert run_helm("version", "--template={{.Version}}").stdout == helm.version()


@pytest.mark.images
@pytest.mark.timeout(900)
def test_helm_talks_to_no_cluster_that_nobody_named() -> None:
    done = run_helm("list", TESTBED_NAME="nowhere")
    assert done.returncode != 0
    assert "cluster unreachable" in done.stderr
