"""Telling users of an object of theirs: its status, and events about it.

Owns: that a status is written only where it changed, and which changes of it are events. Refuses to know: the words.
"""

from typing import Generic, TypeVar

import msgspec

from valkey_operator.api.status import ConditionType, Status
from valkey_operator.controllers.kinds import Kind
from valkey_operator.controllers.live_settings import Tell
from valkey_operator.core.status.conditions import news
from valkey_operator.kube.events import About, Event, EventRecorder
from valkey_operator.kube.objects import KubeObject
from valkey_operator.kube.writer import Writer

T = TypeVar("T", bound=KubeObject)


class Teller(Generic[T]):
    """For one term, and objects of one kind."""

    def __init__(self, kind: Kind[T], writer: Writer[T], events: EventRecorder) -> None:
        self._kind = kind
        self._writer = writer
        self._events = events

    def about(self, found: T) -> Tell:
        """Tells events about one object."""
        meta, resource = found.metadata, self._kind.resource
        about = About(f"{resource.group}/{resource.version}", resource.kind, meta.namespace, meta.name, meta.uid)
        return lambda type_, reason, message: self._events.record(Event(about, type_, reason, message))

    def tell_news(self, found: T, before: Status | None, after: Status, *types: ConditionType, unwell: bool) -> None:
        """An event for another state or reason, and a warning for each condition of these types that is new."""
        tell = self.about(found)
        if before is None or (before.state, before.reason) != (after.state, after.reason):
            is_bad = unwell or after.state in ("Degraded", "Failed")
            tell("Warning" if is_bad else "Normal", after.reason or "", after.message or "")
        for each in news(before.conditions if before else None, after.conditions, *types):
            tell("Warning", each.reason, each.message)

    async def tell_status(self, found: T, before: Status | None, after: Status) -> None:
        """Write it, unless it is there already."""
        manifest = {
            "metadata": {"namespace": found.key.namespace, "name": found.key.name},
            "status": msgspec.to_builtins(after),
        }
        live = msgspec.to_builtins(before) if before else None
        await self._writer.apply_status(manifest, self._kind.projection, live_status=live)
