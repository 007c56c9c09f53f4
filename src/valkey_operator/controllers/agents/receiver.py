"""Reports that agents send by themselves: whose are taken, and what is answered.

Owns: POST /v1/report. Refuses to know: how it is served (wire/posts.py), and what a report leads to.
Only the leader takes reports, and says in which term; a standby names the leader.
"""

import http
from collections.abc import Callable

import structlog
from google.protobuf.message import DecodeError, Message

from valkey_operator.controllers.agents.messages import view_of
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.kube.objects import Key
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.wire.identity import node_in
from valkey_operator.wire.pages import Page
from valkey_operator.wire.posts import Post, Routes

log = structlog.get_logger(__name__)

_PROTOBUF = "application/x-protobuf"


class Receiver:
    """`term` is the one we lead in, if we do; `leader` the address of the one who does, if it is known."""

    def __init__(
        self,
        reports: Reports,
        metrics: EngineMetrics,
        term: Callable[[], int | None],
        leader: Callable[[], str | None],
    ) -> None:
        self._reports = reports
        self._metrics = metrics
        self._term = term
        self._leader = leader

    @property
    def routes(self) -> Routes:
        """What is served."""
        return {b"/v1/report": self.take}

    def take(self, post: Post) -> Page:
        """Answer one report."""
        page = self._answer(post)
        self._metrics.reports.labels(code=str(page.status.value)).inc()
        return page

    def _answer(self, post: Post) -> Page:
        node = node_in(post.uris)
        if node is None or node.node is None:
            log.warning("a report of one who is no node was refused", names=post.uris)
            return Page(b"only nodes report\n", http.HTTPStatus.FORBIDDEN)
        term = self._term()
        if term is None:
            return _page(pb.Misdirected(leader=self._leader() or ""), http.HTTPStatus.MISDIRECTED_REQUEST)
        try:
            report = pb.NodeReport.FromString(post.body)
        except DecodeError:
            return Page(b"expected a NodeReport\n", http.HTTPStatus.BAD_REQUEST)
        if not report.pod_uid or not report.boot_id:
            return Page(b"expected pod_uid and boot_id\n", http.HTTPStatus.BAD_REQUEST)
        self._reports.put(Key(node.namespace, node.node), view_of(report))
        return _page(pb.Ack(boot_id=report.boot_id, seq=report.seq, term=term), http.HTTPStatus.OK)


def _page(message: Message, status: http.HTTPStatus) -> Page:
    return Page(message.SerializeToString(), status, _PROTOBUF)
