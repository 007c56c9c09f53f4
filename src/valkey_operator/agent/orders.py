"""Which orders are obeyed: pure checks, and the promise they leave behind.

Owns: who is meant, which leader and epoch are too old, and what a promotion demands of the data.
Refuses to know: how an order arrives, and how it is carried out.
"""

import msgspec
from google.protobuf.message import Message

from valkey_operator.agent.promise import Given, Promise, given_by_start, is_elected
from valkey_operator.agent.report import Facts, is_running
from valkey_operator.agent.watch import ProcessId
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import BUS_PORT_ABOVE, Address, Announced, BusAddress, Start, StartKind
from valkey_operator.valkey.terms import Terms

_START_KINDS = {
    pb.START_KIND_WRITABLE_PRIMARY: StartKind.WRITABLE_PRIMARY,
    pb.START_KIND_FENCED_PRIMARY: StartKind.FENCED_PRIMARY,
    pb.START_KIND_REPLICA: StartKind.REPLICA,
    pb.START_KIND_PARKED: StartKind.PARKED,
    pb.START_KIND_CLUSTER_NODE: StartKind.CLUSTER_NODE,
}

_PORTS = 1 << 16

# What is not here gives no role.
_GIVEN = {
    "Follow": Given.REPLICA,
    "Promote": Given.PRIMARY,
    "Park": Given.NONE,
}


class Refusal(Exception):  # noqa: N818 - an outcome, said to the operator
    """The order is not carried out; the sentence is for a person."""

    def __init__(self, outcome: pb.Outcome, sentence: str) -> None:
        super().__init__(sentence)
        self.outcome = outcome


def check_order(order: pb.Order, *, pod_uid: str, promise: Promise, given: Given) -> Promise:
    """The promise that holds once the order, which gives this role, is accepted; raises Refusal.

    Whom a primary needs is known for one epoch only. A cluster node goes on needing leave, and has none yet.
    """
    if order.pod_uid != pod_uid:
        raise Refusal(pb.OUTCOME_OTHER_POD, f"the order is for pod {order.pod_uid!r}, and this is {pod_uid!r}")
    if order.term < promise.term:
        raise Refusal(pb.OUTCOME_OLD_TERM, f"the order is of term {order.term}; term {promise.term} was seen")
    if order.epoch < promise.epoch:
        raise Refusal(pb.OUTCOME_OLD_EPOCH, f"the order is of epoch {order.epoch}; epoch {promise.epoch} was promised")
    accepted = msgspec.structs.replace(promise, term=order.term, epoch=order.epoch, given=given)
    if order.epoch == promise.epoch:
        return accepted
    kept = promise.terms if is_elected(promise) else None
    return msgspec.structs.replace(accepted, terms=kept, alone=False)


def given_by_order(name: str, request: Message, before: Given) -> Given:
    """The role that an order gives, by the name it has in agent.proto."""
    if isinstance(request, pb.OpenRequest):
        return given_by_start(_START_KINDS.get(request.kind))
    return _GIVEN.get(name, before)


def terms_in(terms: pb.Terms) -> Terms:
    """The terms of writing that an order names."""
    return Terms(
        sets=tuple(tuple(sorted(each.nodes)) for each in terms.sets),
        fence_after_ms=terms.fence_after_ms,
        missed_after_ms=terms.missed_after_ms,
        least_replicas=terms.least_replicas,
        elected=terms.elected,
    )


def check_start(request: pb.OpenRequest) -> Start:
    """The way to start that was ordered; raises Refusal."""
    kind = _START_KINDS.get(request.kind)
    if kind is None:
        raise Refusal(pb.OUTCOME_BAD_ORDER, f"kind of start {request.kind} is not known to this agent")
    primary = check_address(request.primary) if request.HasField("primary") else None
    announced = _check_announced(request.announced) if request.HasField("announced") else None
    least = request.terms.least_replicas
    try:
        return Start(kind=kind, primary=primary, announced=announced, min_replicas_to_write=least)
    except ValueError as error:
        raise Refusal(pb.OUTCOME_BAD_ORDER, str(error)) from None


def check_address(address: pb.Address) -> Address:
    """A primary's address; raises Refusal."""
    # `REPLICAOF NO ONE` would make a primary.
    if not address.host or address.host.lower() == "no" or not 0 < address.port < _PORTS:
        raise Refusal(pb.OUTCOME_BAD_ORDER, f"{address.host!r} port {address.port} is no address of a primary")
    return Address(address.host, address.port)


def check_bus_address(address: pb.BusAddress) -> BusAddress:
    """The address of a cluster node; raises Refusal."""
    bus_port = address.bus_port or address.port + BUS_PORT_ABOVE
    # The server itself refuses what is no IP, where it has to find a node by it.
    if not address.host or not (0 < address.port < _PORTS and bus_port < _PORTS):
        sentence = f"{address.host!r} ports {address.port} and {bus_port} are no address of a cluster node"
        raise Refusal(pb.OUTCOME_BAD_ORDER, sentence)
    return BusAddress(address.host, address.port, bus_port)


def _check_announced(announced: pb.Announced) -> Announced:
    if not announced.hostname:
        raise Refusal(pb.OUTCOME_BAD_ORDER, "a cluster node announces a host name, and none is given")
    return Announced(address=check_bus_address(announced.address), hostname=announced.hostname)


def check_running(facts: Facts) -> ProcessId:
    """The process of the server that runs; raises Refusal."""
    found = facts.process
    if found.process is None or not is_running(facts):
        raise Refusal(pb.OUTCOME_NOT_RUNNING, f"the server is {found.state}")
    return found.process


def check_promotion(request: pb.PromoteRequest, facts: Facts) -> None:
    """Raise Refusal unless this node has the very data the operator chose it for: it may have restarted since."""
    replication = facts.server.replication if facts.server else None
    if replication is None:
        raise Refusal(pb.OUTCOME_NO_ANSWER, "the server did not tell which data it has")
    if replication.replication_id != request.replication_id:
        raise Refusal(
            pb.OUTCOME_OTHER_HISTORY,
            f"the replication id is {replication.replication_id}, and {request.replication_id!r} was meant",
        )
    link = replication.primary_link
    offset = replication.offset if link is None else link.applied_offset
    if offset < request.at_least_offset:
        raise Refusal(pb.OUTCOME_BEHIND, f"the offset is {offset}, and {request.at_least_offset} was meant")
