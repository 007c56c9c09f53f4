"""A cache of one set of objects: what is known of them, who wants to hear of changes, what is still to be seen.

Owns: the projections, their indices, the subscribers, the progress of the watch. All of it changes only between two
awaits, so a reader never sees half a change.
Refuses to know: where the objects come from (`reflector.py`), and what is done with them.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, TypeVar

import msgspec

from valkey_operator.kube.expectations import Expectations
from valkey_operator.kube.indices import Index, Indices
from valkey_operator.kube.objects import Key, KubeObject, ObjectMeta, parse_version

T = TypeVar("T", bound=KubeObject)
V = TypeVar("V")


class Change(msgspec.Struct, Generic[V], frozen=True):
    """An object before and after; `old` None: it is new, `new` None: it is gone.

    `initial` says that nothing happened: it was there when the cache was filled or the subscriber came.
    """

    key: Key
    old: V | None
    new: V | None
    initial: bool = False


Subscriber = Callable[[Change[V]], None]


class Store(Generic[T]):
    """Written by one reflector, read by everybody."""

    def __init__(
        self, indices: Mapping[str, Index[T]] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._objects: dict[Key, T] = {}
        self._indices: Indices[T] = Indices(indices or {})
        self._subscribers: list[Subscriber[T]] = []
        self._expectations = Expectations(clock)
        self._waiting: set[asyncio.Future[None]] = set()
        self._progress = 0
        self._synced = asyncio.Event()

    # --- reading ---

    def get(self, key: Key) -> T | None:
        """The object as last seen."""
        return self._objects.get(key)

    def list(self) -> tuple[T, ...]:
        """All objects, in the order of their keys."""
        return tuple(self._objects[key] for key in sorted(self._objects))

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        """The objects that an index names `value`, in the order of their keys."""
        return tuple(self._objects[key] for key in sorted(self._indices.keys_of(name, value)))

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Wait for the first list."""
        await self._synced.wait()

    @property
    def progress(self) -> int:
        """The version up to which every change has been seen."""
        return self._progress

    def subscribe(self, subscriber: Subscriber[T]) -> Callable[[], None]:
        """Tell every change from now on, after all that is there already; returns how to end it."""
        self._subscribers.append(subscriber)
        for each in self.list():
            subscriber(Change(each.key, None, each, initial=True))
        return lambda: self._subscribers.remove(subscriber)

    # --- our own writes ---

    def expect_version(self, key: Key, version: str) -> None:
        """We wrote `key`, and it got this resourceVersion."""
        self._expectations.expect_version(key, parse_version(version))
        self._settle()

    def take_over(self, written: T) -> None:
        """We wrote `written`, and need not wait for the watch to tell us so."""
        self._put(written, initial=False)
        self._settle()

    def expect_deletion(self, key: Key, uid: str) -> None:
        """We deleted the object of this uid."""
        self._expectations.expect_deletion(key, uid)
        self._settle()

    def is_current(self, key: Key) -> bool:
        """Whether what is cached of `key` is not older than our own last write to it."""
        return self._expectations.is_met(key)

    async def wait_current(self, keys: Collection[Key] | None = None) -> None:
        """Wait until the keys (None: all) are current; the caller's deadline bounds it."""
        while self._expectations.open_keys & set(keys) if keys is not None else self._expectations.open_keys:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)

    @property
    def is_overdue(self) -> bool:
        """Whether the watch owes us one of our own writes for too long."""
        return self._expectations.overdue()

    # --- written by the reflector ---

    def put(self, new: T) -> None:
        """An object was added or changed."""
        self._advance(new.metadata.resource_version)
        if not self._is_older(new):
            self._put(new, initial=False)
        self._settle()

    def remove(self, last: T) -> None:
        """An object is gone; `last` is its last state, in the version of its removal."""
        self._advance(last.metadata.resource_version)
        self._remove(last.key)
        self._settle()

    def advance(self, version: str) -> None:
        """Nothing changed up to `version`."""
        self._advance(version)
        self._settle()

    def replace_all(self, objects: Iterable[T], version: str) -> None:
        """A whole list, as of `version`: whatever is not in it has vanished while nobody looked."""
        listed = {each.key: each for each in objects}
        if parse_version(version) < self._progress:
            self._expectations.close_all()  # the API server was restored from a backup: versions start over
        self._progress = parse_version(version)
        for key in sorted(self._objects.keys() - listed.keys()):
            self._remove(key)
        for each in listed.values():
            self._put(each, initial=not self.has_synced)
        self._synced.set()
        self._settle()

    def _is_older(self, new: T) -> bool:
        """Whether we know a later state of it, which we wrote ourselves."""
        old = self._objects.get(new.key)
        return old is not None and parse_version(old.metadata.resource_version) > parse_version(
            new.metadata.resource_version
        )

    def _put(self, new: T, *, initial: bool) -> None:
        old = self._objects.get(new.key)
        if old is not None and old.metadata.resource_version == new.metadata.resource_version:
            return
        self._objects[new.key] = new
        self._indices.move(new.key, old, new)
        self._tell(Change(new.key, old, new, initial))

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._indices.move(key, old, None)
            self._tell(Change(key, old, None))

    def _tell(self, change: Change[T]) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(change)

    def _advance(self, version: str) -> None:
        self._progress = max(self._progress, parse_version(version))

    def _settle(self) -> None:
        if self._expectations.settle(self._progress, self._meta) or not self._expectations.open_keys:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)

    def _meta(self, key: Key) -> ObjectMeta | None:
        cached = self._objects.get(key)
        return cached.metadata if cached is not None else None
