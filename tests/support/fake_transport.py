"""What stands in for the API server where only the requests matter: notes each call, answers from a list."""

import asyncio
from collections.abc import Callable, Iterable

from tests.support.engine import metrics
from valkey_operator.kube.errors import ApiError
from valkey_operator.kube.transport import Call, Idle, Transport

Stream = Callable[[Call, Callable[[bytes], None]], float]
"""Hands lines over; returns for how long the watch stays open, silent, afterwards."""


class FakeTransport(Transport):
    """Each call gets the next answer; when they are used up, the last default: an object called x."""

    def __init__(self, answers: Iterable[ApiError | bytes] = (), stream: Stream | None = None) -> None:
        self._answers = list(answers)
        self._stream_of = stream
        self._metrics = metrics()
        self.calls: list[tuple[float, Call]] = []

    async def send(self, call: Call) -> bytes:
        self.calls.append((asyncio.get_running_loop().time(), call))
        answer = self._answers.pop(0) if self._answers else b'{"metadata":{"name":"x","resourceVersion":"1"}}'
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def watch(self, call: Call, on_line: Callable[[bytes], None], idle: Idle) -> None:
        self.calls.append((asyncio.get_running_loop().time(), call))
        open_for_s = self._stream_of(call, on_line) if self._stream_of else 1e9
        async with idle.watchdog():
            await asyncio.sleep(open_for_s)
