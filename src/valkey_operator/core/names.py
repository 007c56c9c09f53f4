"""How objects are called, and the marks by which they are found again.

Owns: names, labels, annotations. Refuses to know: what the objects hold.
"""

from collections.abc import Mapping

import msgspec

MANAGER = "valkey-operator"

NAME_LABEL = "app.kubernetes.io/name"
INSTANCE_LABEL = "app.kubernetes.io/instance"
COMPONENT_LABEL = "app.kubernetes.io/component"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
KIND_LABEL = "valkey.io/kind"
OWNER_LABEL = "valkey.io/cluster"
SHARD_LABEL = "valkey.io/shard"
NODE_LABEL = "valkey.io/node"
ROLE_LABEL = "valkey.io/role"
# No pod has it: a Service that selects by it has the endpoints that the operator gives it, and no others.
ENDPOINTS_LABEL = "valkey.io/endpoints"
SLICE_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"

CR_ANNOTATION = "valkey.io/cr"
UNBIND_ANNOTATION = "valkey.io/unbind"
PRIMARY_ANNOTATION = "valkey.io/primary"
LOSS_ANNOTATION = "valkey.io/accept-lost-slots"
EMPTY_ANNOTATION = "valkey.io/emptied"
ROLL_HASH_ANNOTATION = "valkey.io/roll-hash"
TURN_ANNOTATION = "valkey.io/turn"
TEMPLATE_ANNOTATION = "valkey.io/template-digest"
RENEW_AT_ANNOTATION = "valkey.io/renew-at"

CLUSTER_KIND = "ValkeyCluster"

OURS = f"{MANAGED_BY_LABEL}={MANAGER}"
"""The selector of everything the operator has made."""
NOT_OURS = f"{MANAGED_BY_LABEL}!={MANAGER}"


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """An object that others are made for."""

    api_version: str = "valkey.io/v1alpha1"
    kind: str
    namespace: str
    name: str
    uid: str

    def reference(self) -> dict[str, object]:
        """As an owned object names it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def shard_name(labels: Mapping[str, str]) -> str:
    """What the nodes of a shard are named after: their Valkey, or their ValkeyCluster and the shard's number."""
    owner, shard = labels[OWNER_LABEL], labels[SHARD_LABEL]
    return _numbered(owner, int(shard)) if is_clustered(labels) else owner


def is_clustered(labels: Mapping[str, str]) -> bool:
    """Whether its servers are in cluster mode."""
    return labels[KIND_LABEL] == CLUSTER_KIND


def record_name(labels: Mapping[str, str]) -> str | None:
    """The ValkeyShard that says who may start as what; none in a cluster, whose servers elect their primaries."""
    return None if is_clustered(labels) else labels[OWNER_LABEL]


def node_name(shard: str, index: int) -> str:
    """A node of a shard, which is a Valkey's own or one of a cluster."""
    return _numbered(shard, index)


def node_index(shard: str, node: str) -> int | None:
    """The index of a node by its name, or None for a name that is no node's of this shard."""
    return _number_in(shard, node)


def cluster_place(cluster: str, node: str) -> tuple[int, int] | None:
    """Shard and index of a node by its name, or None for a name that is no node's of this cluster."""
    shard_part, _, _ = node.rpartition("-")
    shard, index = _number_in(cluster, shard_part), _number_in(shard_part, node)
    return None if shard is None or index is None else (shard, index)


def node_host(node: str, namespace: str) -> str:
    """The name of a node's own Service, as any pod resolves it: what the server of a cluster announces."""
    return f"{node}.{namespace}.svc"


def _numbered(name: str, number: int) -> str:
    """One of several that share a name."""
    return f"{name}-{number}"


def _number_in(name: str, whole: str) -> int | None:
    """The number in such a name; None for one that `_numbered` would not make."""
    digits = whole.removeprefix(f"{name}-")
    plain = digits.isascii() and digits.isdecimal() and str(int(digits)) == digits
    return int(digits) if plain and whole == f"{name}-{digits}" else None


def claim_name(node: str) -> str:
    """The volume claim of a node."""
    return f"{node}-data"


def settings_name(node: str) -> str:
    """The ConfigMap with what a node's server reads."""
    return f"{node}-config"


def certificate_name(node: str) -> str:
    """The Secret with the certificate of a node's agent."""
    return f"{node}-agent"


def auth_secret_name(owner: str) -> str:
    """The Secret with which clients log in, where the user gave none."""
    return f"{owner}-auth"


def agents_name(owner: str) -> str:
    """The ServiceAccount, Role and RoleBinding of the agents."""
    return f"{owner}-agent"


def shard_labels(kind: str, owner: str, shard: int = 0) -> dict[str, str]:
    """What all objects of one shard have in common."""
    return {**owner_labels(kind, owner), SHARD_LABEL: str(shard)}


def owner_labels(kind: str, owner: str) -> dict[str, str]:
    """What all objects of one owner have in common, whatever their shard."""
    return {
        NAME_LABEL: "valkey",
        INSTANCE_LABEL: owner,
        COMPONENT_LABEL: "server",
        MANAGED_BY_LABEL: MANAGER,
        KIND_LABEL: kind,
        OWNER_LABEL: owner,
    }


def pods_of(labels: Mapping[str, str]) -> dict[str, str]:
    """The part of labels by which pods are selected: those of one shard, or of all shards of an owner."""
    return {label: labels[label] for label in (KIND_LABEL, OWNER_LABEL, SHARD_LABEL) if label in labels}
