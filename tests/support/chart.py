"""The chart as Helm renders it, without a cluster."""

import os
import subprocess
from typing import Any

import yaml

from tools.chart import CHART
from tools.yaml_text import REPOSITORY

# What stays when a release is uninstalled.
KEPT = {"CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
ONLY_NAMESPACED = ("crds.install=false", "admissionPolicies.install=false")

Objects = list[dict[str, Any]]


def run_helm(*args: str, kubeconfig: str = os.devnull) -> subprocess.CompletedProcess[str]:
    argv = [str(REPOSITORY / "bin" / "helm"), *args]
    return subprocess.run(
        argv, check=False, text=True, capture_output=True, env=os.environ | {"KUBECONFIG": kubeconfig}
    )


def settings(values: tuple[str, ...]) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def try_rendering(*values: str, release: str = "demo", namespace: str = "ops") -> subprocess.CompletedProcess[str]:
    return run_helm("template", release, str(CHART), f"--namespace={namespace}", *settings(values))


def render(*values: str, release: str = "demo", namespace: str = "ops") -> Objects:
    done = try_rendering(*values, release=release, namespace=namespace)
    assert done.returncode == 0, done.stderr
    # The definitions are long, and the parser in C is ten times as quick.
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


def refusal(*values: str) -> str:
    """What Helm says to values that it does not take."""
    done = try_rendering(*values)
    assert done.returncode != 0, done.stdout
    return done.stderr


def of_kind(objects: Objects, kind: str) -> Objects:
    return [each for each in objects if each["kind"] == kind]


def the(objects: Objects, kind: str) -> dict[str, Any]:
    """The only object of this kind."""
    [found] = of_kind(objects, kind)
    return found


def operator_container(objects: Objects) -> dict[str, Any]:
    [container] = the(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found
