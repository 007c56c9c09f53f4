"""What a cache has yet to see of our own writes.

A watch is late by nature: right after a write the cache still shows the state before it. Whoever decides on that state
does the same thing twice, or deletes one too many. So every write leaves an expectation, and until the watch has met it
the key counts as stale.
Owns: the expectations and when they are met. Refuses to know: how the cache is filled.
"""

from collections.abc import Callable

import msgspec

from valkey_operator.kube.objects import Key, ObjectMeta, parse_version

DEADLINE_S = 30.0


class _Expected(msgspec.Struct):
    deadline: float
    version: int = 0
    deleted_uid: str = ""


class Expectations:
    """The open ones, by key; `clock` is the event loop's."""

    def __init__(self, clock: Callable[[], float], deadline_s: float = DEADLINE_S) -> None:
        self._clock = clock
        self._deadline_s = deadline_s
        self._open: dict[Key, _Expected] = {}

    def expect_version(self, key: Key, version: int) -> None:
        """The watch has to come as far as `version`."""
        expected = self._renewed(key)
        expected.version = max(expected.version, version)

    def expect_deletion(self, key: Key, uid: str) -> None:
        """The object of this uid has to go, or to be seen going."""
        self._renewed(key).deleted_uid = uid

    def is_met(self, key: Key) -> bool:
        """True if nothing is open for `key`."""
        return key not in self._open

    @property
    def open_keys(self) -> frozenset[Key]:
        """The keys for which something is open."""
        return frozenset(self._open)

    def settle(self, progress: int, cached: Callable[[Key], ObjectMeta | None]) -> bool:
        """Close what the cache, now at `progress`, has met; True if anything was closed."""
        met = [key for key, expected in self._open.items() if _is_met(expected, progress, cached(key))]
        for key in met:
            del self._open[key]
        return bool(met)

    def overdue(self) -> bool:
        """Whether any is open for longer than its deadline; listing anew is what settles it."""
        return any(expected.deadline <= self._clock() for expected in self._open.values())

    def close_all(self) -> None:
        """Forget everything: the cache has just been filled from a read that is newer than any write."""
        self._open.clear()

    def _renewed(self, key: Key) -> _Expected:
        expected = self._open.setdefault(key, _Expected(0.0))
        expected.deadline = self._clock() + self._deadline_s
        return expected


def _is_met(expected: _Expected, progress: int, cached: ObjectMeta | None) -> bool:
    is_seen = max(progress, parse_version(cached.resource_version) if cached else 0) >= expected.version
    return is_seen and (not expected.deleted_uid or is_gone(cached, expected.deleted_uid))


def is_gone(cached: ObjectMeta | None, uid: str) -> bool:
    """Whether the object of this uid is not there any more, or on its way out."""
    return cached is None or cached.uid != uid or cached.deletion_timestamp is not None
