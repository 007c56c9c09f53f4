"""The pages kubelet asks: is the server alive, may it get traffic, is this agent well.

Owns: what each page says. Refuses to know: how the facts were found. Nothing here can change anything.

A server that loads, runs a long script or does not answer is alive: a restart would only cost its data. Whether a hung
one must die is the licence's business, not that of a probe.
"""

import http
from collections.abc import Callable

from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.valkey.info import LinkStatus, PrimaryLink
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.wire.pages import Page, Pages

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
