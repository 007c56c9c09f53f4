"""Which objects there are, and in which version: all that is kept of objects of others that a spec may refer to.

Owns: one number for each object, and who wants to hear that it changed. Written by one reflector, as a store is, and
filled from metadata alone, so that no content of anybody's Secret comes here.
Refuses to know: what is in the objects, and who refers to them.
"""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from valkey_operator.kube.objects import Key, KubeObject, parse_version
from valkey_operator.kube.store import Change, Subscriber


class VersionMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Its name and version."""

    name: str
    namespace: str = ""
    resource_version: str = ""


class Versioned(KubeObject, frozen=True):
    """What is decoded of each: an annotation alone may be larger than all that is kept."""

    metadata: VersionMeta  # type: ignore[assignment] # less than any other projection has, on purpose


class Versions:
    """Tells changes, never what is there already: whoever refers to an object has read it by then."""

    is_overdue = False

    def __init__(self) -> None:
        self._versions: dict[Key, int] = {}
        self._subscribers: list[Subscriber[int]] = []
        self._synced = asyncio.Event()

    def get(self, key: Key) -> int | None:
        """The version as last seen."""
        return self._versions.get(key)

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Wait for the first list."""
        await self._synced.wait()

    def subscribe(self, subscriber: Subscriber[int]) -> Callable[[], None]:
        """Tell every change from now on; returns how to end it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def put(self, new: Versioned) -> None:
        """An object was added or changed."""
        self._move(new.key, parse_version(new.metadata.resource_version))

    def remove(self, last: Versioned) -> None:
        """An object is gone."""
        self._move(last.key, None)

    def advance(self, version: str) -> None:
        """Nothing changed up to `version`, and nobody asks how far this is."""

    def replace_all(self, objects: Iterable[Versioned], _version: str) -> None:
        """A whole list: whatever is not in it has vanished while nobody looked."""
        listed = {each.key: parse_version(each.metadata.resource_version) for each in objects}
        if not self.has_synced:
            self._versions = listed
            self._synced.set()
            return
        for key in sorted(self._versions.keys() | listed.keys()):
            self._move(key, listed.get(key))

    def _move(self, key: Key, new: int | None) -> None:
        old = self._versions.pop(key, None) if new is None else self._versions.get(key)
        if old == new:
            return
        if new is not None:
            self._versions[key] = new
        for subscriber in tuple(self._subscribers):
            subscriber(Change(key, old, new))
