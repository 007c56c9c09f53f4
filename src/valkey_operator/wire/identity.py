"""The names our programs have in their certificates, and how a peer's name is checked.

Owns: the spelling. An identity is a URI (SPIFFE's form) and, because gRPC compares only host names, the same words as a
DNS name; both are in every certificate, made from one value, and neither is an address that DNS would resolve.
Refuses to know: who signs it, and who may do what.
"""

import re

import msgspec

TRUST_DOMAIN = "valkey-operator"
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NODE = re.compile(rf"spiffe://{TRUST_DOMAIN}/ns/({_LABEL})/node/({_LABEL}(?:\.{_LABEL})*)")


class Identity(msgspec.Struct, frozen=True):
    """Who somebody is: the operator of a namespace, or a node by its name."""

    namespace: str
    node: str | None = None

    @property
    def uri(self) -> str:
        """Such as spiffe://valkey-operator/ns/shop/node/cart-0."""
        who = "operator" if self.node is None else f"node/{self.node}"
        return f"spiffe://{TRUST_DOMAIN}/ns/{self.namespace}/{who}"

    @property
    def host_name(self) -> str:
        """Such as cart-0.node.shop.valkey-operator.invalid; `invalid` is reserved never to be resolved."""
        who = "operator" if self.node is None else f"{self.node}.node"
        return f"{who}.{self.namespace}.{TRUST_DOMAIN}.invalid"


def operator_identity(namespace: str) -> Identity:
    """The operator that runs in a namespace; all its replicas are the same one."""
    return Identity(namespace)


def node_identity(namespace: str, node: str) -> Identity:
    """The agent of one node."""
    return Identity(namespace, node)


def has_identity(uris: list[str], expected: Identity) -> bool:
    """Whether a certificate with these URIs is that of the expected one; a second name beside it is refused."""
    return uris == [expected.uri]


def node_in(uris: list[str]) -> Identity | None:
    """The node whose certificate has these URIs; None for everybody else, and for a second name beside it."""
    match = _NODE.fullmatch(uris[0]) if len(uris) == 1 else None
    return node_identity(match[1], match[2]) if match else None
