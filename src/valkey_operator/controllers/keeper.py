"""Keeping objects as they shall be, and leaving alone what is not ours.

Owns: whether an object may be written: it is missing, or it is ours. An object of that name that belongs to somebody
else is never adopted or overwritten; one from which a user took our mark is never touched again.
Refuses to know: what the objects are for.
"""

import asyncio
from collections.abc import Awaitable
from typing import Generic, TypeVar

import msgspec

from valkey_operator.controllers.kinds import Kind
from valkey_operator.core.names import CR_ANNOTATION, MANAGED_BY_LABEL, MANAGER
from valkey_operator.kube.client import KubeClient, Manifest, key_of
from valkey_operator.kube.errors import NotFoundError
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.kube.store import Store
from valkey_operator.kube.writer import Writer
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import TransientError

T = TypeVar("T", bound=KubeObject)
_LEFTOVER_RETRY_S = 1.0


class NameConflictError(Exception):
    """An object of a name that we need belongs to somebody else."""

    def __init__(self, kind: str, key: Key) -> None:
        super().__init__(
            f"{kind} {key.name} exists already and is not the operator's: it is left alone. "
            f"Delete or rename it, or choose another metadata.name."
        )
        self.kind = kind


async def all_done(*works: Awaitable[object]) -> list[NameConflictError]:
    """Let each come to its end, so that one conflict does not stop the rest; another failure is raised after all."""
    ends = await asyncio.gather(*works, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException) and not isinstance(end, NameConflictError):
            raise end
    return [end for end in ends if isinstance(end, NameConflictError)]


class Keeper(Generic[T]):
    """One for each kind."""

    def __init__(self, client: KubeClient, kind: Kind[T], store: Store[T], metrics: EngineMetrics) -> None:
        self._client = client
        self._kind = kind
        self.store = store
        self.writer = Writer(client, kind.resource, store, metrics)

    async def ensure(self, manifest: Manifest) -> bool:
        """Apply it, unless it is as it shall be already, or unbound; whether anything was sent."""
        live = await self.find(key_of(manifest))
        if live is not None and not self._may_write(live, manifest):
            # The user's own now: it must not go with what it was made for.
            return await self.release(live) if live.metadata.owner_references else False
        return await self.writer.apply(manifest, self._kind.projection)

    async def find(self, key: Key) -> T | None:
        """The object, ours or not: what has not our label is in no cache."""
        live = self.store.get(key)
        if live is not None or not self._kind.labelled:
            return live
        try:
            return await self._client.get(self._kind.resource, key, self._kind.projection)
        except NotFoundError:
            return None

    async def remove(self, key: Key) -> bool:
        """Delete what we made, if it is there and still bound to us."""
        live = self.store.get(key)
        if live is None or live.metadata.deletion_timestamp or is_unbound(live):
            return False
        return await self.writer.delete(live)

    async def release(self, live: T) -> bool:
        """Take our mark and owners off, and touch nothing else; whether anything was sent."""
        others = [owner for owner in live.metadata.owner_references if not owner.controller]
        if is_unbound(live) and len(others) == len(live.metadata.owner_references):
            return False
        changes = {"annotations": {CR_ANNOTATION: None}, "ownerReferences": msgspec.to_builtins(others) or None}
        await self.writer.merge(live.key, {"metadata": changes}, self._kind.projection)
        return True

    async def mark(self, live: T, cr: str) -> bool:
        """Put our mark on what has none, so that it is kept again; whether anything was sent."""
        if not is_unbound(live):
            return False
        await self.writer.merge(live.key, {"metadata": {"annotations": {CR_ANNOTATION: cr}}}, self._kind.projection)
        return True

    def _may_write(self, live: T, manifest: Manifest) -> bool:
        if live.metadata.deletion_timestamp or _is_of_former_owner(live, manifest):
            raise TransientError(
                f"{self._kind.resource.kind} {live.key} is being deleted", retry_after_s=_LEFTOVER_RETRY_S
            )
        if not is_ours(live, manifest):
            raise NameConflictError(self._kind.resource.kind, live.key)
        return not is_unbound(live)


def is_unbound(live: KubeObject) -> bool:
    """Whether a user took the mark off an object that we made."""
    return CR_ANNOTATION not in live.metadata.annotations


def is_ours(live: KubeObject, manifest: Manifest) -> bool:
    """Whether it was made for the owner that the manifest names, or stayed behind from one of the same name.

    Labels do not count beside the owner or the mark: they may be edited by hand, and come back.
    """
    wanted = {owner["uid"] for owner in manifest["metadata"].get("ownerReferences", ())}
    owners = {owner.uid for owner in live.metadata.owner_references if owner.controller}
    if owners:
        return owners <= wanted
    cr: str = manifest["metadata"]["annotations"][CR_ANNOTATION]
    if is_unbound(live):
        return live.metadata.labels.get(MANAGED_BY_LABEL) == MANAGER
    return live.metadata.annotations[CR_ANNOTATION] == cr


def _is_of_former_owner(live: KubeObject, manifest: Manifest) -> bool:
    """Whether it belongs to an object of the same kind and name that is gone: the garbage collector is on its way."""
    wanted = {(owner["kind"], owner["name"]): owner["uid"] for owner in manifest["metadata"].get("ownerReferences", ())}
    return any(wanted.get((owner.kind, owner.name), owner.uid) != owner.uid for owner in live.metadata.owner_references)
