"""What the agents of a shard may do at the API server: read the record of their own shard.

Owns: ServiceAccount, Role and RoleBinding. Refuses to know: what the agents read it for.
"""

from collections.abc import Mapping

from valkey_operator.core.names import Owner, agents_name
from valkey_operator.core.render.objects import Manifest, metadata

_RBAC = "rbac.authorization.k8s.io"


def service_account(owner: Owner, labels: Mapping[str, str]) -> Manifest:
    """Whom the pods run as; only the agent gets its token."""
    return {"metadata": _metadata(owner, labels), "automountServiceAccountToken": False}


def role(owner: Owner, labels: Mapping[str, str]) -> Manifest:
    """The one right."""
    record = {
        "apiGroups": ["valkey.io"],
        "resources": ["valkeyshards"],
        "resourceNames": [owner.name],
        "verbs": ["get"],
    }
    return {"metadata": _metadata(owner, labels), "rules": [record]}


def role_binding(owner: Owner, labels: Mapping[str, str]) -> Manifest:
    """Account and right."""
    name = agents_name(owner.name)
    return {
        "metadata": _metadata(owner, labels),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": owner.namespace}],
    }


def _metadata(owner: Owner, labels: Mapping[str, str]) -> Manifest:
    return metadata(agents_name(owner.name), owner, labels, cr=owner.name)
