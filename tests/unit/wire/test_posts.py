import http

import pytest

from valkey_operator.wire.identity import node_identity, node_in, operator_identity
from valkey_operator.wire.pages import Page
from valkey_operator.wire.posts import MOST_BODY_BYTES, Post, RequestError, parse_head

ROUTES = {b"/v1/report": lambda _: Page(b"")}


def head(*headers: str, line: str = "POST /v1/report HTTP/1.1") -> bytes:
    return "\r\n".join((line, "Host: here", *headers, "", "")).encode()


def test_a_sound_request_is_for_its_route() -> None:
    respond, size = parse_head(ROUTES, head("content-LENGTH:  12 "))
    assert respond(Post([], b"")) == Page(b"")
    assert size == 12


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"\x16\x03\x01\r\n\r\n", 400),
        (head("Content-Length: 1", line="POST /v1/report"), 400),
        (head("Content-Length: 1", line="POST /v1/report SPDY/3"), 400),
        (head("Content-Length: 1", line="POST /v2/report HTTP/1.1"), 404),
        (head("Content-Length: 1", line="GET /v1/report HTTP/1.1"), 405),
        (head(), 411),
        (head("Content-Length: -1"), 411),
        (head("Content-Length: 1", "Content-Length: 2"), 411),
        (head("Content-Length: ²"), 411),
        (head("Content-Length: 1", "Transfer-Encoding: chunked"), 411),
        (head(f"Content-Length: {MOST_BODY_BYTES + 1}"), 413),
        (head(f"Content-Length: {'9' * 5000}"), 413),
    ],
)
def test_any_other_is_answered_without_reading_its_body(request_head: bytes, status: int) -> None:
    with pytest.raises(RequestError) as caught:
        parse_head(ROUTES, request_head)
    assert caught.value.page.status == http.HTTPStatus(status)


@pytest.mark.parametrize("node", [node_identity("shop", "cart-0"), node_identity("a", "a.b-c.d")])
def test_a_node_is_read_out_of_its_certificate(node: object) -> None:
    assert node_in([node.uri]) == node  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "uris",
    [
        [],
        [operator_identity("shop").uri],
        [node_identity("shop", "cart-0").uri, operator_identity("shop").uri],
        ["spiffe://elsewhere/ns/shop/node/cart-0"],
        ["spiffe://valkey-operator/ns/shop/node/"],
        ["spiffe://valkey-operator/ns/shop/node/a/b"],
        ["spiffe://valkey-operator/ns/../node/a"],
        ["spiffe://valkey-operator/ns/shop/node/cart-0\n"],
        ["spiffe://valkey-operator/ns/shop/node/..%2f"],
    ],
)
def test_everybody_else_is_no_node(uris: list[str]) -> None:
    assert node_in(uris) is None
