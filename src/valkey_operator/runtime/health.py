"""The endpoint that kubelet and Prometheus ask: /healthz, /readyz and /metrics.

Owns: what is answered. Refuses to know: how it is served (`wire/pages.py`), and when the program is ready; it is told
so through `Readiness`.
"""

import http

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from valkey_operator.wire.pages import Page, Pages


class Readiness:
    """Whether the program can do its work, and if not, what it waits for."""

    def __init__(self, waiting_for: str) -> None:
        self._waiting_for: str | None = waiting_for

    @property
    def waiting_for(self) -> str | None:
        """What is still missing; None when ready."""
        return self._waiting_for

    def wait_for(self, waiting_for: str) -> None:
        """Answer /readyz with 503 and this from now on."""
        self._waiting_for = waiting_for

    def mark_ready(self) -> None:
        """Answer /readyz with 200 from now on."""
        self._waiting_for = None


def health_pages(readiness: Readiness, registry: CollectorRegistry) -> Pages:
    """The pages, over whatever is so when one is asked for."""

    def readyz() -> Page:
        if readiness.waiting_for is None:
            return Page(b"ok\n")
        return Page(f"waiting for {readiness.waiting_for}\n".encode(), http.HTTPStatus.SERVICE_UNAVAILABLE)

    return {
        b"/healthz": lambda: Page(b"ok\n"),
        b"/readyz": readyz,
        b"/metrics": lambda: Page(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4),
    }
