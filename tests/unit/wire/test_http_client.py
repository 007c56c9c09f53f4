import asyncio

import pytest

from valkey_operator.wire.http_client import MOST_BODY_BYTES, HttpError, Response, read_response


def response_in(data: bytes) -> Response:
    async def run() -> Response:
        reader = asyncio.StreamReader(limit=MOST_BODY_BYTES)
        reader.feed_data(data)
        reader.feed_eof()
        return await read_response(reader)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "response"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, b"ok")),
        (b"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nok and more", (200, b"ok")),
        (b"HTTP/1.1 204\r\n\r\n", (204, b"")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            (200, b"abc0123456789"),
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", (200, b"")),
    ],
)
def test_an_answer_is_read_by_its_length_or_chunk_by_chunk(data: bytes, response: Response) -> None:
    assert response_in(data) == response


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nffff\r\n" + b"b" * 0x10000,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MOST_BODY_BYTES + b"\r\n\r\n",
    ],
)
def test_an_answer_that_is_cut_malformed_or_too_long_is_an_error(data: bytes) -> None:
    with pytest.raises(HttpError):
        response_in(data)
