"""What agents send by themselves, reports and requests for leave to write: whose are taken, and what is answered.

Owns: POST /v1/report and /v1/licence. Refuses to know: how they are served (wire/posts.py), and what follows from them.
Only the leader takes them, and says in which term; a standby names the leader.
"""

import http
from collections.abc import Callable

import structlog
from google.protobuf.message import DecodeError, Message

from valkey_operator.controllers.agents.grants import Grants
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
        grants: Grants,
        metrics: EngineMetrics,
        *,
        term: Callable[[], int | None],
        leader: Callable[[], str | None],
    ) -> None:
        self._reports = reports
        self._grants = grants
        self._metrics = metrics
        self._term = term
        self._leader = leader

    @property
    def routes(self) -> Routes:
        """What is served."""
        return {b"/v1/report": self.take, b"/v1/licence": self.grant}

    def take(self, post: Post) -> Page:
        """Answer one report."""
        page = self._for_a_node(post, self._take)
        self._metrics.reports.labels(code=str(page.status.value)).inc()
        return page

    def grant(self, post: Post) -> Page:
        """Answer one request for leave to write."""
        return self._for_a_node(post, self._grant)

    def _for_a_node(self, post: Post, answer: Callable[[Key, bytes, int], Page]) -> Page:
        node = node_in(post.uris)
        if node is None or node.node is None:
            log.warning("one who is no node was refused", names=post.uris)
            return Page(b"only nodes are served\n", http.HTTPStatus.FORBIDDEN)
        term = self._term()
        if term is None:
            return _page(pb.Misdirected(leader=self._leader() or ""), http.HTTPStatus.MISDIRECTED_REQUEST)
        try:
            return answer(Key(node.namespace, node.node), post.body, term)
        except DecodeError:
            return Page(b"expected a message of agent.proto\n", http.HTTPStatus.BAD_REQUEST)

    def _take(self, node: Key, body: bytes, term: int) -> Page:
        report = pb.NodeReport.FromString(body)
        if not report.pod_uid or not report.boot_id:
            return Page(b"expected pod_uid and boot_id\n", http.HTTPStatus.BAD_REQUEST)
        self._reports.put(node, view_of(report))
        return _page(pb.Ack(boot_id=report.boot_id, seq=report.seq, term=term), http.HTTPStatus.OK)

    def _grant(self, node: Key, body: bytes, _term: int) -> Page:
        asked = pb.LicenceRequest.FromString(body)
        granted = self._grants.may_write(node, asked.epoch, asked.pod_uid)
        return _page(pb.LicenceReply(granted=granted), http.HTTPStatus.OK)


def _page(message: Message, status: http.HTTPStatus) -> Page:
    return Page(message.SerializeToString(), status, _PROTOBUF)
