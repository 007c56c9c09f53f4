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

CR_ANNOTATION = "valkey.io/cr"
UNBIND_ANNOTATION = "valkey.io/unbind"
PRIMARY_ANNOTATION = "valkey.io/primary"
ROLL_HASH_ANNOTATION = "valkey.io/roll-hash"
TURN_ANNOTATION = "valkey.io/turn"
TEMPLATE_ANNOTATION = "valkey.io/template-digest"
RENEW_AT_ANNOTATION = "valkey.io/renew-at"

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


def node_name(owner: str, index: int) -> str:
    """A node of a Valkey."""
    return f"{owner}-{index}"


def node_index(owner: str, node: str) -> int | None:
    """The index of a node by its name, or None for a name that is no node's of this owner."""
    digits = node.removeprefix(f"{owner}-")
    plain = digits.isascii() and digits.isdecimal() and str(int(digits)) == digits
    return int(digits) if plain and node == f"{owner}-{digits}" else None


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
    return {
        NAME_LABEL: "valkey",
        INSTANCE_LABEL: owner,
        COMPONENT_LABEL: "server",
        MANAGED_BY_LABEL: MANAGER,
        KIND_LABEL: kind,
        OWNER_LABEL: owner,
        SHARD_LABEL: str(shard),
    }


def pods_of(labels: Mapping[str, str]) -> dict[str, str]:
    """The part of a shard's labels by which its pods are selected."""
    return {label: labels[label] for label in (KIND_LABEL, OWNER_LABEL, SHARD_LABEL)}
