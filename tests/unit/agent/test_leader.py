import pytest

from valkey_operator.agent.leader import named_leader
from valkey_operator.proto.agent.v1 import agent_pb2 as pb


@pytest.mark.parametrize(
    ("status", "body", "leader"),
    [
        (421, pb.Misdirected(leader="new:1").SerializeToString(), "new:1"),
        (421, b"", None),
        (421, b"\xff", None),
        (200, pb.Misdirected(leader="new:1").SerializeToString(), None),
        (503, b"", None),
    ],
)
def test_only_a_standby_names_the_leader(status: int, body: bytes, leader: str | None) -> None:
    assert named_leader(status, body) == leader
