import http
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.engine import metrics
from valkey_operator.api.shard import PendingChange, ShardOwner, ValkeyShardSpec
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.receiver import Receiver
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.kube.objects import Key, ObjectMeta
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.identity import node_identity, operator_identity
from valkey_operator.wire.pages import Page
from valkey_operator.wire.posts import Post

NODE = [node_identity("shop", "cart-0").uri]
REPORT = pb.NodeReport(pod_uid="uid", boot_id="boot", seq=4)


class Ground:
    def __init__(self, term: int | None = 7, leader: str | None = "10.0.0.7:9444") -> None:
        self.reports = Reports(lambda: 0.0)
        self.grants = Grants(lambda: 0.0)
        self.receiver = Receiver(self.reports, self.grants, metrics(), term=lambda: term, leader=lambda: leader)

    def send(self, report: Any = REPORT, uris: list[str] = NODE) -> Page:
        body = report if isinstance(report, bytes) else report.SerializeToString()
        return self.receiver.routes[b"/v1/report"](Post(uris, body))

    def keys(self) -> list[Key]:
        found: list[Key] = []
        self.reports.subscribe(lambda change: found.append(change.key))
        return found


def test_a_leader_keeps_the_report_under_the_name_in_the_certificate_and_says_its_term() -> None:
    ground = Ground()
    page = ground.send()
    assert page.status is http.HTTPStatus.OK
    assert pb.Ack.FromString(page.body) == pb.Ack(boot_id="boot", seq=4, term=7)
    assert ground.keys() == [Key("shop", "cart-0")]


def test_a_standby_keeps_nothing_and_names_the_leader_if_it_knows_one() -> None:
    for leader, named in (("10.0.0.7:9444", "10.0.0.7:9444"), (None, "")):
        ground = Ground(None, leader)
        page = ground.send()
        assert page.status is http.HTTPStatus.MISDIRECTED_REQUEST
        assert pb.Misdirected.FromString(page.body).leader == named
        assert ground.keys() == []


def test_one_who_is_no_node_is_refused_by_leader_and_standby() -> None:
    for term in (7, None):
        ground = Ground(term)
        for uris in ([], [operator_identity("valkey-operator-system").uri], NODE * 2):
            assert ground.send(uris=uris).status is http.HTTPStatus.FORBIDDEN
        assert ground.keys() == []


def test_what_is_no_report_is_refused() -> None:
    ground = Ground()
    for wrong in (b"\xff", pb.NodeReport(pod_uid="uid"), pb.NodeReport(boot_id="boot"), b""):
        assert ground.send(wrong).status is http.HTTPStatus.BAD_REQUEST
    assert ground.keys() == []


@dataclass
class Records:
    """A cache of one record, that of Valkey cart."""

    spec: ValkeyShardSpec

    def get(self, key: Key) -> ShardObject | None:
        found = ShardObject(metadata=ObjectMeta(name="cart", namespace="shop"), spec=self.spec)
        return found if key == Key("shop", "cart") else None


@pytest.mark.parametrize(
    ("changes", "granted"),
    [
        ({}, True),
        ({"epoch": 8}, False),
        ({"primary": "cart-1"}, False),
        ({"pending": PendingChange(epoch=8)}, False),
        ({"promotable": ["cart-1"], "primary_pod": "uid"}, True),
        ({"promotable": ["cart-1"], "primary_pod": "former"}, False),
        ({"primary_pod": "former"}, True),
    ],
)
def test_leave_to_write_is_given_to_the_primary_on_record_while_no_change_is_announced(
    changes: dict[str, Any], granted: bool
) -> None:
    ground = Ground()
    spec = {"owner": ShardOwner(kind="Valkey", name="cart"), "index": 0, "epoch": 7, "primary": "cart-0", **changes}
    asked = pb.LicenceRequest(epoch=7, pod_uid="uid").SerializeToString()

    def answer() -> bool:
        page = ground.receiver.routes[b"/v1/licence"](Post(NODE, asked))
        assert page.status is http.HTTPStatus.OK
        return pb.LicenceReply.FromString(page.body).granted

    assert not answer(), "before the records are known"
    ground.grants.read_from(Records(ValkeyShardSpec(**spec)))  # type: ignore[arg-type]
    assert answer() is granted


def test_a_standby_gives_no_leave_and_names_the_leader() -> None:
    ground = Ground(term=None)
    page = ground.receiver.routes[b"/v1/licence"](Post(NODE, pb.LicenceRequest(epoch=7).SerializeToString()))
    assert page.status is http.HTTPStatus.MISDIRECTED_REQUEST
