import pytest
from prometheus_client import CollectorRegistry, Counter

from valkey_operator.runtime.health import Readiness, health_pages
from valkey_operator.wire.pages import respond

registry = CollectorRegistry()
Counter("apples", "Apples eaten.", registry=registry).inc(3)


def ask(request_line: str, readiness: Readiness | None = None) -> tuple[int, str]:
    pages = health_pages(readiness or Readiness(waiting_for="the API server"), registry)
    head, _, body = respond(pages, f"{request_line}\r\nHost: x\r\n\r\n".encode()).decode().partition("\r\n\r\n")
    assert f"Content-Length: {len(body)}\r\nConnection: close" in head
    return int(head.split(" ")[1]), body


def test_a_program_that_waits_is_healthy_but_not_ready_and_says_for_what() -> None:
    assert ask("GET /healthz HTTP/1.1") == (200, "ok\n")
    assert ask("GET /readyz HTTP/1.1") == (503, "waiting for the API server\n")


def test_a_program_that_has_what_it_needs_is_ready() -> None:
    readiness = Readiness(waiting_for="the API server")
    readiness.mark_ready()
    assert ask("GET /readyz HTTP/1.1", readiness) == (200, "ok\n")


def test_a_query_does_not_change_the_page() -> None:
    assert ask("GET /healthz?verbose HTTP/1.1")[0] == 200


def test_metrics_are_those_of_the_registry() -> None:
    status, body = ask("GET /metrics HTTP/1.1")
    assert status == 200
    assert "apples_total 3.0" in body


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /secrets HTTP/1.1", 404),
        ("POST /healthz HTTP/1.1", 405),
        ("GET /healthz", 400),
        ("GET /healthz SSH/2.0", 400),
        ("", 400),
    ],
)
def test_any_other_request_is_refused(request_line: str, status: int) -> None:
    assert ask(request_line)[0] == status
