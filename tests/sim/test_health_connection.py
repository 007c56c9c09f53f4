import asyncio

from tests.sim import virtual_time
from valkey_operator.wire.pages import MOST_HEAD_BYTES, REQUEST_DEADLINE_S, answer_one_request


class RecordingTransport(asyncio.Transport):
    """The far end of a connection: keeps what was written, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def seconds_until_closed(sent: bytes, *, then_hangs_up: bool = False) -> tuple[float, bytes]:
    async def connect() -> tuple[float, bytes]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_HEAD_BYTES)
        transport = RecordingTransport()
        writer = asyncio.StreamWriter(transport, asyncio.StreamReaderProtocol(reader), reader, loop)
        reader.feed_data(sent)
        if then_hangs_up:
            reader.feed_eof()
        await answer_one_request(reader, writer, lambda _: b"answer")
        assert transport.closed
        return loop.time(), transport.written

    return virtual_time.run(connect(), seed=1)


def test_a_whole_request_is_answered_at_once_and_the_connection_closed() -> None:
    assert seconds_until_closed(b"GET /healthz HTTP/1.1\r\n\r\n") == (0, b"answer")


def test_a_caller_that_does_not_finish_its_request_is_dropped_at_the_deadline() -> None:
    assert seconds_until_closed(b"GET /heal") == (REQUEST_DEADLINE_S, b"")


def test_a_caller_that_hangs_up_is_forgotten_at_once() -> None:
    assert seconds_until_closed(b"GET /heal", then_hangs_up=True) == (0, b"")


def test_a_caller_that_sends_too_much_is_dropped_at_once() -> None:
    assert seconds_until_closed(b"x" * (MOST_HEAD_BYTES + 100) + b"\r\n\r\n") == (0, b"")


def test_an_answer_is_made_after_what_it_was_held_back_for() -> None:
    async def connect() -> tuple[float, bytes]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_HEAD_BYTES)
        transport = RecordingTransport()
        writer = asyncio.StreamWriter(transport, asyncio.StreamReaderProtocol(reader), reader, loop)
        reader.feed_data(b"GET /readyz HTTP/1.1\r\n\r\n")
        said = b"no"

        async def hold(_head: bytes) -> None:
            nonlocal said
            await asyncio.sleep(0.5)
            said = b"yes"

        await answer_one_request(reader, writer, lambda _: said, hold)
        return loop.time(), transport.written

    assert virtual_time.run(connect(), seed=1) == (0.5, b"yes")
