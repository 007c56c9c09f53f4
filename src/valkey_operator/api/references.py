"""References to other objects. None has a namespace: whatever is referred to is in the object's own."""

from typing import Annotated, Literal

from valkey_operator.api.fields import Model, doc, name_of

KEY = r"^[-._a-zA-Z0-9]+$"


class NameRef(Model, frozen=True, kw_only=True):
    """An object of the same namespace, by name."""

    name: Annotated[str, name_of("Name of the object, in this namespace.")]


class SecretKeyRef(Model, frozen=True, kw_only=True):
    """One key of a Secret of the same namespace."""

    name: Annotated[str, name_of("Name of the Secret, in this namespace.")]
    key: Annotated[
        str | None,
        doc(
            "Key within the Secret. Built in: password for passwords, acl.conf for ACL files.",
            pattern=KEY,
            maxLength=253,
        ),
    ] = None


class DataKeyRef(Model, frozen=True, kw_only=True):
    """One key of a ConfigMap or a Secret of the same namespace."""

    kind: Annotated[Literal["ConfigMap", "Secret"] | None, doc("What is referred to. Built in: ConfigMap.")] = None
    name: Annotated[str, name_of("Name of the ConfigMap or Secret, in this namespace.")]
    key: Annotated[str, doc("Key within it.", pattern=KEY, maxLength=253)]


class IssuerRef(Model, frozen=True, kw_only=True):
    """An issuer of cert-manager."""

    name: Annotated[str, name_of("Name of the issuer.")]
    kind: Annotated[
        Literal["Issuer", "ClusterIssuer"] | None,
        doc("An Issuer of this namespace, or a ClusterIssuer. Built in: Issuer."),
    ] = None
    group: Annotated[
        str | None,
        doc("API group, for issuers that are not cert-manager's own. Built in: cert-manager.io.", maxLength=253),
    ] = None
