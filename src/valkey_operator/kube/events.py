"""Events: what a person reads under `kubectl describe`.

Recording never waits and never fails. The same event about the same object is one Event whose count grows; its name is
made from its content, so the next process goes on with the same one. Too many about one object, or too many waiting,
are dropped and counted.
Owns: counting, pace, sending. Refuses to know: what is worth an event.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import structlog

from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import ApiError, ServerError, TooManyRequestsError, UnreachableError
from valkey_operator.kube.objects import KubeObject, Resource
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.rate import TokenBucket

log = structlog.get_logger(__name__)

EVENTS = Resource("", "v1", "events", "Event")
COMPONENT = "valkey-operator"

MOST_SERIES = 1000
MOST_MESSAGE_CHARACTERS = 1024
PER_OBJECT_BURST, PER_OBJECT_PER_S = 25, 1 / 60
OVERALL_BURST, OVERALL_PER_S = 50, 10
PAUSE_OF_A_SERIES_S = 10.0
RETRY_S = 5.0


class About(msgspec.Struct, frozen=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class Event(msgspec.Struct, frozen=True):
    """What happened: `reason` is one word in CamelCase, `message` a sentence."""

    about: About
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass
class _Series:
    event: Event
    first: datetime
    last: datetime
    count: int = 0
    not_before: float = 0.0


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class EventRecorder:
    """`record` is for everybody; one task runs `run`."""

    client: KubeClient
    metrics: EngineMetrics
    instance: str
    now: Callable[[], datetime] = _now
    _series: dict[Event, _Series] = field(default_factory=dict)
    _unsent: dict[Event, None] = field(default_factory=dict)
    _buckets: dict[str, TokenBucket] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def record(self, event: Event) -> None:
        """Note an event; it is sent soon, or counted as dropped."""
        if not self._bucket_of(event.about).take(_loop_time()):
            self.metrics.dropped_events.labels(reason="too_many_about_one_object").inc()
            return
        series = self._series.pop(event, None) or _Series(event, self.now(), self.now())
        series.count, series.last = series.count + 1, self.now()
        self._series[event] = series  # at the end: the least recently used goes first
        self._unsent.setdefault(event)
        self._trim()
        self._wake.set()

    async def run(self) -> None:
        """Send what is recorded until cancelled."""
        pace = TokenBucket(burst=OVERALL_BURST, per_s=OVERALL_PER_S, now=_loop_time())
        while True:
            series = await self._next()
            await asyncio.sleep(pace.reserve(_loop_time()))
            await self._send(series)

    async def _next(self) -> _Series:
        while True:
            self._wake.clear()
            waiting = [self._series[event] for event in self._unsent]
            soonest = min(waiting, key=lambda series: series.not_before, default=None)
            if soonest is not None and soonest.not_before <= _loop_time():
                del self._unsent[soonest.event]
                return soonest
            await self._wait_until(soonest.not_before if soonest is not None else None)

    async def _wait_until(self, time: float | None) -> None:
        try:
            async with asyncio.timeout_at(time):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _send(self, series: _Series) -> None:
        series.not_before = _loop_time() + PAUSE_OF_A_SERIES_S
        try:
            await self.client.apply(EVENTS, self._manifest(series), KubeObject)
        except (UnreachableError, ServerError, TooManyRequestsError) as error:
            series.not_before = _loop_time() + max(RETRY_S, error.retry_after_s or 0.0)
            if series.event in self._series:
                self._unsent.setdefault(series.event)
        except ApiError as error:
            self.metrics.dropped_events.labels(reason="refused").inc()
            log.warning("an event was refused", reason=str(error))

    def _manifest(self, series: _Series) -> dict[str, Any]:
        event, about = series.event, series.event.about
        digest = hashlib.blake2b(msgspec.json.encode(event), digest_size=8).hexdigest()
        return {
            "metadata": {"name": f"{about.name[:230]}.{digest}", "namespace": about.namespace or "default"},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": event.type,
            "reason": event.reason,
            "message": event.message[:MOST_MESSAGE_CHARACTERS],
            "count": series.count,
            "firstTimestamp": _timestamp(series.first),
            "lastTimestamp": _timestamp(series.last),
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self.instance,
        }

    def _bucket_of(self, about: About) -> TokenBucket:
        fresh = TokenBucket(burst=PER_OBJECT_BURST, per_s=PER_OBJECT_PER_S, now=_loop_time())
        bucket = self._buckets.pop(about.uid, fresh)
        self._buckets[about.uid] = bucket
        if len(self._buckets) > MOST_SERIES:
            del self._buckets[next(iter(self._buckets))]
        return bucket

    def _trim(self) -> None:
        while len(self._series) > MOST_SERIES:
            oldest = next(iter(self._series))
            del self._series[oldest]
            if oldest in self._unsent:
                del self._unsent[oldest]
                self.metrics.dropped_events.labels(reason="too_many_waiting").inc()


def _timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
