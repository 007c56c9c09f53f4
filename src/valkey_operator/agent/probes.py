"""The pages kubelet asks: is the server alive, may it get traffic, is this agent well.

Owns: what each page says. Refuses to know: how the facts were found. Nothing here can change anything.

A server that loads, runs a long script or does not answer is alive: a restart would only cost its data. Whether a hung
one must die is the licence's business, not that of a probe.

kubelet asks once a second. So that a server is found ready within milliseconds, a "no" is held back a while, and is
said as a "yes" at the moment it becomes one.
"""

import http
from collections.abc import Callable
from typing import Protocol

from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.server import ServerView
from valkey_operator.valkey.info import LinkStatus, PrimaryLink
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.wire.pages import Page, Pages

# Below kubelet's own deadline of a second.
HOLD_S = 0.8
MOST_HELD = 4
_UNWELL = {
    Health.LOADING: "the server is loading",
    Health.BUSY: "the server is busy",
    Health.HUNG: "the server does not answer",
    Health.REFUSES: "the server refuses us",
    Health.UNREACHABLE: "the server is unreachable",
}


def check_live(facts: Facts) -> str | None:
    """None: alive, or still to come; else why not."""
    return "the server is gone" if facts.process.state is ProcessState.GONE else None


def check_ready(facts: Facts) -> str | None:
    """None: clients may use this server; else why not."""
    if facts.process.state is not ProcessState.RUNNING:
        return f"the server is {facts.process.state}"
    view = facts.server
    if view is None:
        return "the server was not asked yet"
    if view.health is not Health.ANSWERS:
        return _UNWELL[view.health]
    return _check_link(view)


def _check_link(view: ServerView) -> str | None:
    link = view.replication.primary_link if view.replication else None
    if link is None:
        return None
    return None if _has_whole_data_set(link) else f"the link to {link.host}:{link.port} is {_describe(link)}"


def _has_whole_data_set(link: PrimaryLink) -> bool:
    return link.status is LinkStatus.UP and not link.sync_in_progress


def _describe(link: PrimaryLink) -> str:
    return "synchronising" if link.sync_in_progress else str(link.status)


def probe_pages(facts: Callable[[], Facts]) -> Pages:
    """The pages, over whatever the facts are when one is asked for."""

    def page(problem: str | None) -> Page:
        if problem is None:
            return Page(b"ok\n")
        return Page(f"{problem}\n".encode(), http.HTTPStatus.SERVICE_UNAVAILABLE)

    return {
        b"/healthz": lambda: page(None),
        b"/livez": lambda: page(check_live(facts())),
        b"/readyz": lambda: page(check_ready(facts())),
    }


class _Node(Protocol):
    report: Report

    async def wait_for(self, holds: Callable[[Report], bool], *, within_s: float | None = None) -> bool: ...


class ReadinessHold:
    """Holds /readyz back while the server is not ready, unless it was when asked before: bad news is not delayed."""

    def __init__(self, node: _Node) -> None:
        self._node = node
        self._was_ready = False
        self._held = 0

    async def __call__(self) -> None:
        """Wait for readiness, for a while, and not for many callers at once."""
        ready = check_ready(self._node.report.facts) is None
        if not ready and not self._was_ready and self._held < MOST_HELD:
            self._held += 1
            try:
                ready = await self._node.wait_for(lambda report: check_ready(report.facts) is None, within_s=HOLD_S)
            finally:
                self._held -= 1
        self._was_ready = ready
