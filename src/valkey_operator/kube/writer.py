"""Writes to objects of one kind that are also cached: skipped where nothing changed, expected back by the cache.

An apply is not sent if we applied the same content before and the object is still as our last apply left it. That is
remembered in memory only: after a restart each object is applied once more, which the API server answers without
writing anything (docs/decisions/2026-11-16-skipped-applies.md).
Owns: that memory, and the expectations each write leaves. Refuses to know: what the objects are for.
"""

import hashlib
from typing import Generic, TypeVar

import msgspec

from valkey_operator.kube.client import KubeClient, Manifest, key_of
from valkey_operator.kube.objects import Key, KubeObject, ObjectMeta, Resource
from valkey_operator.kube.store import Store
from valkey_operator.runtime.metrics import EngineMetrics

T = TypeVar("T", bound=KubeObject)

_MOST_VANISHED = 64


class _Applied(msgspec.Struct, frozen=True):
    desired: bytes
    left_as: bytes


class Writer(Generic[T]):
    """One for each kind and cache."""

    def __init__(self, client: KubeClient, resource: Resource, store: Store[T], metrics: EngineMetrics) -> None:
        self._client = client
        self._resource = resource
        self._store = store
        self._skipped = metrics.skipped_writes.labels(resource=resource.plural)
        self._applied: dict[Key, _Applied] = {}

    async def apply(self, manifest: Manifest, projection: type[T]) -> bool:
        """Apply unless it would change nothing; whether it was sent."""
        key, desired = key_of(manifest), fingerprint(manifest)
        live = self._store.get(key)
        if live is not None and self._applied.get(key) == _Applied(desired, content_of(live.metadata)):
            self._skipped.inc()
            return False
        written = await self._client.apply(self._resource, manifest, projection)
        self._applied[key] = _Applied(desired, content_of(written.metadata))
        self._forget_vanished()
        self._store.expect_version(key, written.metadata.resource_version)
        return True

    async def apply_status(self, manifest: Manifest, projection: type[T], *, live_status: object) -> bool:
        """Apply `manifest["status"]` unless it equals `live_status`, which the caller reads from the cache."""
        if fingerprint(manifest["status"]) == fingerprint(live_status):
            self._skipped.inc()
            return False
        written = await self._client.apply(self._resource, manifest, projection, subresource="status")
        self._store.expect_version(key_of(manifest), written.metadata.resource_version)
        return True

    async def create(self, manifest: Manifest, projection: type[T]) -> T:
        """Create, or raise `AlreadyExistsError`."""
        return self._expect(await self._client.create(self._resource, manifest, projection))

    async def merge(self, key: Key, changes: Manifest, projection: type[T]) -> T:
        """Change single fields of what exists, or raise `NotFoundError`."""
        return self._expect(await self._client.merge(self._resource, key, changes, projection))

    async def replace(self, manifest: Manifest, projection: type[T], *, subresource: str | None = None) -> T:
        """Compare and swap, or raise `ConflictError`; the cache has it at once, for nobody else wrote in between."""
        written = await self._client.replace(self._resource, manifest, projection, subresource=subresource)
        self._store.take_over(written)
        return written

    async def delete(self, victim: T, *, only_this_version: bool = False) -> bool:
        """Delete this very object, not a later one of the same name; False if it was gone already."""
        meta = victim.metadata
        version = meta.resource_version if only_this_version else None
        was_there = await self._client.delete(self._resource, victim.key, uid=meta.uid, resource_version=version)
        self._store.expect_deletion(victim.key, meta.uid)
        return was_there

    def _expect(self, written: T) -> T:
        self._store.expect_version(written.key, written.metadata.resource_version)
        return written

    def _forget_vanished(self) -> None:
        if len(self._applied) > 2 * len(self._store) + _MOST_VANISHED:
            self._applied = {key: kept for key, kept in self._applied.items() if self._store.get(key) is not None}


def fingerprint(value: object) -> bytes:
    """A short stand-in for a value: equal values, whatever the order of their keys, have equal fingerprints."""
    return hashlib.blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=16).digest()


def content_of(meta: ObjectMeta) -> bytes:
    """What changes whenever somebody changes more of an object than its status.

    The generation counts changes of the spec, where the kind has one; where not, the resourceVersion counts all.
    Without this every status update of a workload would cost an apply.
    """
    counted = str(meta.generation) if meta.generation else f"version {meta.resource_version}"
    return fingerprint(
        [
            meta.uid,
            counted,
            meta.labels,
            meta.annotations,
            meta.owner_references,
            meta.finalizers,
            meta.deletion_timestamp,
        ]
    )
