"""The metadata of an object, as far as the operator reads or writes it."""

import msgspec

GROUP = "valkey.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Whom an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Name, identity and marks of an object."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None
