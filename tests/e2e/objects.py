"""Objects as people compare them: what was asked for, without what the API server and time add."""

import re
from typing import Any

from tests.e2e.cluster import Cluster, Manifest

KINDS = (
    "valkeys,valkeynodes,valkeyshards,services,configmaps,secrets,serviceaccounts,"
    "roles,rolebindings,poddisruptionbudgets,persistentvolumeclaims,statefulsets,deployments"
)
_ADDED = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_CHANGING_ANNOTATIONS = re.compile(r"valkey\.io/(renew-at|turn|template-digest)|.*kubernetes\.io/.*")
_GIVEN = ("clusterIP", "clusterIPs", "volumeName", "replicationId", "firstOffset")


def content_of(found: Manifest) -> Manifest:
    """What somebody has decided about it; secrets by their keys alone."""
    meta = {key: value for key, value in found["metadata"].items() if key not in _ADDED}
    notes = meta.pop("annotations", {})
    meta["annotations"] = {key: value for key, value in notes.items() if not _CHANGING_ANNOTATIONS.fullmatch(key)}
    meta["ownerReferences"] = [
        {key: value for key, value in owner.items() if key != "uid"} for owner in meta.get("ownerReferences", [])
    ]
    rest = {key: value for key, value in found.items() if key not in ("metadata", "status")}
    if found["kind"] == "Secret":
        rest["data"] = sorted(found.get("data", {}))
    if found["kind"] == "ConfigMap":
        rest["data"] = {key: re.sub(r"replica-announce-ip \S+", "", text) for key, text in found["data"].items()}
    rest["spec"] = {key: value for key, value in found.get("spec", {}).items() if key not in _GIVEN}
    return {"metadata": meta, **rest}


def everything_in(cluster: Cluster, namespace: str) -> dict[str, Manifest]:
    """All that the operator has made in a namespace, and the Valkeys, by kind and name."""
    found = cluster.get(KINDS, namespace=namespace)["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": content_of(each) for each in found if is_kept(each)}


def is_kept(found: Manifest) -> bool:
    """Whether it is a Valkey, or of the operator's; what is on its way out is neither."""
    labels: dict[str, Any] = found["metadata"].get("labels", {})
    ours = labels.get("app.kubernetes.io/managed-by") == "valkey-operator" or found["kind"].startswith("Valkey")
    return ours and "deletionTimestamp" not in found["metadata"]
