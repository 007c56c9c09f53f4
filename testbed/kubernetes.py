"""Kubernetes, etcd, CoreDNS and kubectl: one program, built from the module proxy's sources (see kube/main.go)."""

import re
from functools import cache
from pathlib import Path

from testbed.layout import REPOSITORY
from testbed.progress import Progress
from testbed.toolchain import GoProgram, built

MODULE = REPOSITORY / "testbed" / "kube"


def version() -> str:
    """The version that kube/go.mod pins, such as v1.34.4."""
    match = re.search(r"k8s\.io/kubernetes (v[\d.]+)", (MODULE / "go.mod").read_text())
    if match is None:
        raise ValueError(f"{MODULE / 'go.mod'} pins no k8s.io/kubernetes")
    return match.group(1)


def program() -> GoProgram:
    major, minor, _ = version().lstrip("v").split(".")
    stamps = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    stamp_flags = [f"-X {package}.{key}={value}" for package in packages for key, value in stamps.items()]
    return GoProgram("kube", MODULE, ldflags=" ".join(["-s -w", *stamp_flags]))


@cache
def binary() -> Path:
    return built(program(), Progress())
