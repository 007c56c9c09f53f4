import pytest
from google.protobuf.message import Message

from tests.support import build
from valkey_operator.agent.orders import (
    Refusal,
    check_address,
    check_order,
    check_promotion,
    check_start,
    given_by_order,
)
from valkey_operator.agent.promise import Given, Promise, parse_promise, render_promise
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Address, Announced, BusAddress, Start, StartKind
from valkey_operator.valkey.info import ReplicationInfo
from valkey_operator.valkey.states import Health
from valkey_operator.valkey.terms import Terms

PROMISE = Promise(term=3, epoch=7)
ANNOUNCED = pb.Announced(address=pb.BusAddress(host="10.0.0.1", port=6379), hostname="c-0")


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        (pb.Order(term=3, epoch=7, pod_uid="other"), pb.OUTCOME_OTHER_POD),
        (pb.Order(term=3, epoch=7), pb.OUTCOME_OTHER_POD),
        (pb.Order(term=2, epoch=8, pod_uid="uid"), pb.OUTCOME_OLD_TERM),
        (pb.Order(epoch=8, pod_uid="uid"), pb.OUTCOME_OLD_TERM),
        (pb.Order(term=4, epoch=6, pod_uid="uid"), pb.OUTCOME_OLD_EPOCH),
    ],
)
def test_an_order_for_another_pod_or_of_an_older_leader_or_epoch_is_refused(
    order: pb.Order, outcome: pb.Outcome
) -> None:
    with pytest.raises(Refusal) as caught:
        check_order(order, pod_uid="uid", promise=PROMISE, given=Given.ANY)
    assert caught.value.outcome == outcome


@pytest.mark.parametrize(("term", "epoch"), [(3, 7), (4, 7), (3, 8), (9, 9)])
def test_an_accepted_order_is_a_promise_to_refuse_older_ones(term: int, epoch: int) -> None:
    order = pb.Order(term=term, epoch=epoch, pod_uid="uid")
    accepted = check_order(order, pod_uid="uid", promise=PROMISE, given=Given.REPLICA)
    assert accepted == Promise(term, epoch, Given.REPLICA)


@pytest.mark.parametrize(("elected", "kept"), [(True, True), (False, False)])
def test_in_a_newer_epoch_a_cluster_node_goes_on_needing_leave_and_a_primary_is_told_anew(
    elected: bool, kept: bool
) -> None:
    terms = Terms(sets=(("c-1-0",),), fence_after_ms=2500, elected=elected)
    before = Promise(term=3, epoch=7, terms=terms)
    order = pb.Order(term=3, epoch=8, pod_uid="uid")
    accepted = check_order(order, pod_uid="uid", promise=before, given=Given.ANY)
    assert accepted.terms == (terms if kept else None)


def test_a_promise_is_read_back_as_it_was_kept() -> None:
    assert parse_promise(render_promise(PROMISE)) == PROMISE
    assert parse_promise('{"term": 3, "epoch": 7}') == PROMISE


@pytest.mark.parametrize(
    ("name", "request_", "given"),
    [
        ("Open", pb.OpenRequest(kind=pb.START_KIND_WRITABLE_PRIMARY), Given.PRIMARY),
        ("Open", pb.OpenRequest(kind=pb.START_KIND_REPLICA), Given.REPLICA),
        ("Open", pb.OpenRequest(kind=pb.START_KIND_FENCED_PRIMARY), Given.NONE),
        ("Open", pb.OpenRequest(kind=pb.START_KIND_PARKED), Given.NONE),
        ("Open", pb.OpenRequest(kind=pb.START_KIND_CLUSTER_NODE), Given.ANY),
        ("Open", pb.OpenRequest(), Given.NONE),
        ("Follow", pb.FollowRequest(), Given.REPLICA),
        ("Promote", pb.PromoteRequest(), Given.PRIMARY),
        ("Park", pb.ParkRequest(), Given.NONE),
        ("Kill", pb.KillRequest(), Given.REPLICA),
        ("Configure", pb.ConfigureRequest(), Given.REPLICA),
        ("Release", pb.ReleaseRequest(), Given.REPLICA),
    ],
)
def test_an_order_gives_a_role_or_leaves_the_one_before(name: str, request_: Message, given: Given) -> None:
    assert given_by_order(name, request_, Given.REPLICA) is given


@pytest.mark.parametrize(
    ("request_", "start"),
    [
        (pb.OpenRequest(kind=pb.START_KIND_PARKED), Start(kind=StartKind.PARKED)),
        (
            pb.OpenRequest(kind=pb.START_KIND_WRITABLE_PRIMARY, terms=pb.Terms(least_replicas=1)),
            Start(kind=StartKind.WRITABLE_PRIMARY, min_replicas_to_write=1),
        ),
        (
            pb.OpenRequest(kind=pb.START_KIND_REPLICA, primary=pb.Address(host="h", port=1)),
            Start(kind=StartKind.REPLICA, primary=Address("h", 1)),
        ),
        (
            pb.OpenRequest(kind=pb.START_KIND_CLUSTER_NODE, announced=ANNOUNCED),
            Start(
                kind=StartKind.CLUSTER_NODE,
                announced=Announced(address=BusAddress("10.0.0.1", 6379, 16379), hostname="c-0"),
            ),
        ),
    ],
)
def test_an_order_to_open_names_the_kind_of_start(request_: pb.OpenRequest, start: Start) -> None:
    assert check_start(request_) == start


@pytest.mark.parametrize(
    "request_",
    [
        pb.OpenRequest(),
        pb.OpenRequest(kind=pb.START_KIND_REPLICA),
        pb.OpenRequest(kind=pb.START_KIND_CLUSTER_NODE),
        pb.OpenRequest(kind=pb.START_KIND_CLUSTER_NODE, announced=pb.Announced(address=ANNOUNCED.address)),
        pb.OpenRequest(kind=pb.START_KIND_PARKED, announced=ANNOUNCED),
        pb.OpenRequest(kind=pb.START_KIND_PARKED, primary=pb.Address(host="h", port=1)),
        pb.OpenRequest.FromString(b"\x10\x63"),  # a kind of start from the future
    ],
)
def test_an_order_to_open_that_is_not_understood_starts_nothing(request_: pb.OpenRequest) -> None:
    with pytest.raises(Refusal) as caught:
        check_start(request_)
    assert caught.value.outcome == pb.OUTCOME_BAD_ORDER


@pytest.mark.parametrize(("host", "port"), [("", 1), ("NO", 1), ("no", 1), ("h", 0), ("h", 65536)])
def test_an_address_that_would_promote_or_lead_nowhere_is_refused(host: str, port: int) -> None:
    with pytest.raises(Refusal):
        check_address(pb.Address(host=host, port=port))


def facts(replication: ReplicationInfo | None) -> Facts:
    return Facts(server=ServerView(health=Health.ANSWERS, server=build.server(), replication=replication))


@pytest.mark.parametrize(
    ("replication", "outcome"),
    [
        (None, pb.OUTCOME_NO_ANSWER),
        (build.primary(replication_id="b" * 40), pb.OUTCOME_OTHER_HISTORY),
        (build.primary(offset=99), pb.OUTCOME_BEHIND),
        (build.replica(applied_offset=99, received_offset=100), pb.OUTCOME_BEHIND),
        (build.replica(applied_offset=100, received_offset=100), None),
        (build.primary(offset=100), None),
    ],
)
def test_only_the_data_that_were_chosen_are_promoted(
    replication: ReplicationInfo | None, outcome: pb.Outcome | None
) -> None:
    request = pb.PromoteRequest(replication_id="a" * 40, at_least_offset=100)
    if outcome is None:
        check_promotion(request, facts(replication))
        return
    with pytest.raises(Refusal) as caught:
        check_promotion(request, facts(replication))
    assert caught.value.outcome == outcome
