"""One HTTP request to the API server and its answer, or one watch.

Owns: deadlines, the translation of every failure into an `ApiError`, the count of requests.
Refuses to know: what is asked; `client.py` spells the requests.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import httpx2
import msgspec
from lightkube.core.exceptions import ConfigError

from valkey_operator.kube.connection import Session
from valkey_operator.kube.errors import ApiError, SilentWatchError, UnreachableError, error_from_answer
from valkey_operator.kube.lines import LineBuffer
from valkey_operator.runtime.metrics import EngineMetrics

REQUEST_DEADLINE_S = 10.0
JSON = "application/json"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request; `resource` is the label it is counted under."""

    method: str
    resource: str
    path: str
    params: Mapping[str, str] = {}
    content: bytes | None = None
    media: str = JSON
    accept: str = JSON
    deadline_s: float = REQUEST_DEADLINE_S

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Idle:
    """How long a watch may stay silent; each chunk starts the time anew."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timeout: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def watchdog(self) -> AsyncIterator[None]:
        """End the block by `SilentWatchError` when the time is over."""
        timeout = self._timeout = asyncio.timeout(self._limit_s)
        try:
            async with timeout:
                yield
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise SilentWatchError("nothing was heard for too long") from error
        finally:
            self._timeout = None

    def restart(self) -> None:
        """Something was heard."""
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._limit_s)

    def end_now(self) -> None:
        """End the watch at the next chance, as if it had been silent."""
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())


class Transport:
    """A session that counts what it sends."""

    def __init__(self, session: Session, metrics: EngineMetrics) -> None:
        self._session = session
        self._metrics = metrics

    async def send(self, call: Call) -> bytes:
        """The body of a good answer within the call's deadline; an `ApiError` for anything else."""
        headers = {"Accept": call.accept, **({"Content-Type": call.media} if call.content is not None else {})}
        with self._failures_of(call):
            async with asyncio.timeout(call.deadline_s):
                response = await self._session.request(
                    call.method,
                    call.path,
                    params=dict(call.params),
                    content=call.content,
                    headers=headers,
                    timeout=call.deadline_s,
                )
        self._count(call, response.status_code)
        if response.is_success:
            return response.content
        raise _error(call, response)

    async def watch(self, call: Call, on_line: Callable[[bytes], None], idle: Idle) -> None:
        """Hand over each line until the server ends the stream; `SilentWatchError` if nothing comes for too long."""
        lines = LineBuffer()
        with self._failures_of(call):
            async with idle.watchdog(), self._open_stream(call) as response:
                async for chunk in response.aiter_bytes():
                    idle.restart()
                    for line in lines.feed(chunk):
                        on_line(line)

    @contextlib.asynccontextmanager
    async def _open_stream(self, call: Call) -> AsyncIterator[httpx2.Response]:
        limits = httpx2.Timeout(call.deadline_s, read=None)
        plain = {"Accept-Encoding": "identity", "Accept": call.accept}
        params = dict(call.params)
        async with self._session.stream("GET", call.path, params=params, timeout=limits, headers=plain) as response:
            self._count(call, response.status_code)
            if not response.is_success:
                await response.aread()
                raise _error(call, response)
            yield response

    @contextlib.contextmanager
    def _failures_of(self, call: Call) -> Iterator[None]:
        try:
            yield
        except (TimeoutError, httpx2.HTTPError, ConfigError, OSError) as error:
            self._count(call, 0)
            raise UnreachableError(f"{call}: {type(error).__name__}: {error}") from error

    def _count(self, call: Call, code: int) -> None:
        self._metrics.requests.labels(method=call.method, resource=call.resource, code=str(code)).inc()


def _error(call: Call, response: httpx2.Response) -> ApiError:
    return error_from_answer(str(call), response.status_code, response.content, response.headers.get("Retry-After", ""))
