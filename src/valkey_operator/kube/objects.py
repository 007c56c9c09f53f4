"""What all Kubernetes objects have in common: where they are found, and their metadata.

Owns: paths of resources, keys, the base of every projection. A projection is a frozen struct with only the fields that
somebody reads; all else in an answer is skipped while it is decoded, and costs no memory.
Refuses to know: any single kind.
"""

from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """Which object of a kind; `namespace` is empty for those of the whole cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Resource(msgspec.Struct, frozen=True):
    """A kind, as the API server spells it in paths and manifests; `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As a manifest has it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection_path(self, namespace: str | None) -> str:
        """Where objects are listed and created; None is all namespaces."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{place}/{self.plural}"

    def object_path(self, key: Key, subresource: str | None = None) -> str:
        """Where one object is read and written."""
        path = f"{self.collection_path(key.namespace)}/{key.name}"
        return f"{path}/{subresource}" if subresource else path


class Query(msgspec.Struct, frozen=True):
    """A set of objects to list and watch: of one kind, in one namespace or all, with selectors or without.

    `metadata_only`: the API server sends nothing else of them.
    """

    resource: Resource
    namespace: str | None = None
    selector: str | None = None
    field_selector: str | None = None
    metadata_only: bool = False

    @property
    def path(self) -> str:
        """Where the set is listed."""
        return self.resource.collection_path(self.namespace)

    @property
    def params(self) -> dict[str, str]:
        """What narrows the set down."""
        chosen = {"labelSelector": self.selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in chosen.items() if value}

    @property
    def title(self) -> str:
        """What it is called in logs and metrics."""
        return f"{self.resource.plural}{' (metadata)' if self.metadata_only else ''}"


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """Whom an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The metadata worth keeping; managed fields are by far the largest part, and not."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class KubeObject(msgspec.Struct, frozen=True, rename="camel"):
    """The base of every projection."""

    metadata: ObjectMeta

    @property
    def key(self) -> Key:
        """Which one it is."""
        return Key(self.metadata.namespace, self.metadata.name)


def parse_version(text: str) -> int:
    """A resourceVersion as a number that grows with every change in the cluster; 0 for none.

    Kubernetes promises since 1.35 that they can be compared; with etcd, whose revisions they are, it was always so.
    """
    return int(text) if text.isdecimal() else 0
