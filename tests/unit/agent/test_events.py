import pytest

from valkey_operator.agent.events import Delivery, after_reply
from valkey_operator.agent.report import Facts, Report
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

REPORT = Report(pod_uid="uid", boot_id="boot", agent_version="1", seq=5, facts=Facts())
BEFORE = Delivery(term=3, acked_seq=4)


def ack(**changes: object) -> bytes:
    fields = {"boot_id": "boot", "seq": 5, "term": 3, **changes}
    return pb.Ack(**fields).SerializeToString()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "body", "after"),
    [
        (200, ack(), Delivery(term=3, acked_seq=5)),
        (200, ack(term=4), Delivery(term=4, acked_seq=5)),
        (200, ack(term=2), Delivery(term=3, acked_seq=4)),
        (200, ack(seq=4), Delivery(term=3, acked_seq=4)),
        (200, ack(boot_id="former"), Delivery(term=3, acked_seq=4)),
        (200, b"\xff", Delivery(term=3, acked_seq=4)),
        (200, b"", Delivery(term=3, acked_seq=4)),
        (421, pb.Misdirected(leader="new:1").SerializeToString(), Delivery(term=3, acked_seq=4)),
        (421, b"", Delivery(term=3, acked_seq=4)),
        (503, b"", Delivery(term=3, acked_seq=4)),
    ],
)
def test_only_an_ack_of_this_report_by_the_newest_leader_counts(status: int, body: bytes, after: Delivery) -> None:
    assert after_reply(BEFORE, REPORT, status, body) == after
