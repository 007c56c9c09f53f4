from typing import Any

import pytest

from valkey_operator.controllers.agents.messages import Outcome, order_message, outcome_of, view_of
from valkey_operator.core.node_view import NodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Address, StartKind
from valkey_operator.valkey.states import ProcessState

FROM_THE_FUTURE: Any = 99
ORDER = pb.Order(term=1, epoch=2, pod_uid="uid")


def test_an_empty_report_says_nothing() -> None:
    assert view_of(pb.NodeReport()) == NodeView(pod_uid="", boot_id="", seq=0)


def test_words_of_a_newer_agent_are_taken_for_silence() -> None:
    view = view_of(
        pb.NodeReport(
            process=FROM_THE_FUTURE,
            health=FROM_THE_FUTURE,
            replication=pb.Replication(role=FROM_THE_FUTURE),
            disk_error=FROM_THE_FUTURE,
        )
    )
    assert (view.process, view.health, view.role, view.disk_error) == (ProcessState.SHUT, None, None, None)
    assert outcome_of(pb.Result(outcome=FROM_THE_FUTURE)) is outcome_of(pb.Result()) is Outcome.UNKNOWN


@pytest.mark.parametrize("version", ["", "9", "9.1", "9.1.2.3", "9.1.x", "9.1.2\n", "٩.1.2"])
def test_a_malformed_version_is_none(version: str) -> None:
    assert view_of(pb.NodeReport(server=pb.Server(version=version))).version is None


@pytest.mark.parametrize(
    "primary", [pb.Address(), pb.Address(port=6379), pb.Address(host="a"), pb.Address(host="a", port=65536)]
)
def test_a_link_to_nowhere_is_no_link(primary: pb.Address) -> None:
    report = pb.NodeReport(replication=pb.Replication(link=pb.Link(primary=primary, up=True)))
    assert view_of(report).link is None


def test_every_outcome_has_its_word() -> None:
    words = {outcome_of(pb.Result(outcome=name)) for name in pb.Outcome.DESCRIPTOR.values_by_name}
    assert words == set(Outcome)


def test_an_order_is_spelled_as_the_agent_reads_it() -> None:
    opened = order_message("Open", ORDER, {"kind": StartKind.REPLICA, "primary": Address("10.0.0.1", 6379)})
    assert opened == pb.OpenRequest(
        order=ORDER, kind=pb.START_KIND_REPLICA, primary=pb.Address(host="10.0.0.1", port=6379)
    )
    configured = order_message("Configure", ORDER, {"settings": {"maxmemory": "1gb"}})
    assert configured == pb.ConfigureRequest(order=ORDER, settings={"maxmemory": "1gb"})
    for kind in StartKind:
        order_message("Open", ORDER, {"kind": kind})


def test_an_order_or_field_that_does_not_exist_is_a_defect() -> None:
    with pytest.raises(KeyError):
        order_message("Fly", ORDER, {})
    with pytest.raises(ValueError, match="wings"):
        order_message("Park", ORDER, {"wings": 2})
