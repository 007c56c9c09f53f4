"""The lines of a watch, as typed values.

Owns: the meaning of an event's type. Refuses to know: how lines arrive and what is done with the events.
"""

from typing import Generic, TypeVar

import msgspec

from valkey_operator.kube.errors import Status, error_from_status
from valkey_operator.kube.objects import KubeObject

T = TypeVar("T", bound=KubeObject)


class Present(msgspec.Struct, Generic[T], frozen=True):
    """An object was added or changed."""

    object: T


class Absent(msgspec.Struct, Generic[T], frozen=True):
    """An object was deleted, or left the selector."""

    object: T


class Bookmark(msgspec.Struct, frozen=True):
    """Nothing else happened up to this version."""

    version: str


class Unreadable(msgspec.Struct, frozen=True):
    """An event that is not as expected; the watch goes on."""

    reason: str


WatchEvent = Present[T] | Absent[T] | Bookmark | Unreadable


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _VersionMeta(msgspec.Struct, rename="camel"):
    resource_version: str


class _Versioned(msgspec.Struct):
    metadata: _VersionMeta


class EventParser(Generic[T]):
    """Decodes objects into one projection."""

    def __init__(self, projection: type[T]) -> None:
        self._line = msgspec.json.Decoder(_Line)
        self._object = msgspec.json.Decoder(projection)
        self._status = msgspec.json.Decoder(Status)
        self._versioned = msgspec.json.Decoder(_Versioned)

    def parse(self, line: bytes) -> WatchEvent[T]:
        """One event; raises the `ApiError` that an ERROR event stands for."""
        try:
            event = self._line.decode(line)
            if event.type == "ERROR":
                status = self._status.decode(event.object)
            else:
                return self._parse_object(event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Unreadable(str(error))
        raise error_from_status("watch", status)

    def _parse_object(self, event: _Line) -> WatchEvent[T]:
        if event.type in {"ADDED", "MODIFIED"}:
            return Present(self._object.decode(event.object))
        if event.type == "DELETED":
            return Absent(self._object.decode(event.object))
        if event.type == "BOOKMARK":
            return Bookmark(self._versioned.decode(event.object).metadata.resource_version)
        return Unreadable(f"unknown type {event.type!r}")
