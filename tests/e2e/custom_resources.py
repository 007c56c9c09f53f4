"""Custom resources for tests: building them, and asking the API server what it would say to them."""

import yaml

from testbed.layout import REPOSITORY
from tests.e2e.cluster import Cluster, Manifest
from valkey_operator.api.crd import KINDS

API = "valkey.io/v1alpha1"
# The chart may have installed others.
APPLY = ("--server-side", "--force-conflicts")


def manifest(kind: str, spec: Manifest | None = None, name: str = "example") -> Manifest:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec or {}}


def try_out(cluster: Cluster, *manifests: Manifest) -> tuple[bool, str]:
    """Whether `kubectl apply` would succeed, and what is said."""
    return _dry_run(cluster, *manifests)


def try_to_change(cluster: Cluster, namespace: str, changed: Manifest) -> tuple[bool, str]:
    """The same for an object that exists: fields that are not in the manifest any more are removed."""
    return _dry_run(cluster, changed, flags=("--server-side", f"--namespace={namespace}"))


def _dry_run(cluster: Cluster, *manifests: Manifest, flags: tuple[str, ...] = ()) -> tuple[bool, str]:
    text = yaml.safe_dump_all(manifests)
    done = cluster.try_kubectl("apply", "--dry-run=server", *flags, "--filename=-", stdin=text)
    return done.returncode == 0, done.stdout + done.stderr


def install(cluster: Cluster) -> None:
    """CRDs and admission policies, in effect."""
    cluster.kubectl("apply", *APPLY, f"--filename={REPOSITORY}/config/crd")
    names = [f"crd/{kind.plural}.valkey.io" for kind in KINDS]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    cluster.kubectl("apply", *APPLY, f"--filename={REPOSITORY}/config/admission")
    cluster.wait_for("the admission policies to take effect", lambda: _policies_hold(cluster))


def _policies_hold(cluster: Cluster) -> bool | None:
    refused = not try_out(cluster, manifest("Valkey", {"config": {"bind": "x"}}))[0]
    warned = "Warning" in try_out(cluster, manifest("Sentinel", {"replicas": 2}))[1]
    without_volume = {"persistence": {"enabled": False, "aof": {"enabled": True}}}
    warned_too = "Warning" in try_out(cluster, manifest("Valkey", without_volume))[1]
    return True if refused and warned and warned_too else None
