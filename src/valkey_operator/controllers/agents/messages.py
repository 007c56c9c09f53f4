"""What agents say, in the operator's own words, and orders in theirs.

Owns: which field means what; the opposite of agent/messages.py. Refuses to know: over which wire.
An agent may be older or newer than we are: a word that is not known is taken for silence, never for a guess.
"""

import enum
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import Message

from valkey_operator.controllers.agents.cluster_messages import CLUSTER_SPELLINGS, cluster_view_of, nodes_view_of
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Address, StartKind
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import DiskError, Health, ProcessState
from valkey_operator.valkey.terms import Terms

_SERVICE = pb.DESCRIPTOR.services_by_name["Agent"]
_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}")
_PORTS = range(1, 1 << 16)
_ROLES = {pb.ROLE_PRIMARY: Role.PRIMARY, pb.ROLE_REPLICA: Role.REPLICA}
_PROCESS_STATES = {pb.ProcessState.Value(f"PROCESS_STATE_{state.name}"): state for state in ProcessState}
_HEALTHS = {pb.Health.Value(f"HEALTH_{health.name}"): health for health in Health}
_DISK_ERRORS = {pb.DiskError.Value(f"DISK_ERROR_{error.name}"): error for error in DiskError}


class Outcome(enum.StrEnum):
    """How an order ended; see agent.proto. `UNKNOWN` is a word of a newer agent."""

    UNKNOWN = "unknown"
    OBEYED = "obeyed"
    OTHER_POD = "other-pod"
    OLD_TERM = "old-term"
    OLD_EPOCH = "old-epoch"
    BAD_ORDER = "bad-order"
    NOBODY_WAITS = "nobody-waits"
    NOT_RUNNING = "not-running"
    OTHER_HISTORY = "other-history"
    BEHIND = "behind"
    SERVER_REFUSED = "server-refused"
    NO_ANSWER = "no-answer"
    NO_LICENCE = "no-licence"
    VOLUME_TAKEN = "volume-taken"
    OTHER_STATE = "other-state"
    UNFINISHED = "unfinished"


_OUTCOMES = {
    pb.Outcome.Value(f"OUTCOME_{outcome.name}"): outcome for outcome in Outcome if outcome is not Outcome.UNKNOWN
}


def view_of(report: pb.NodeReport) -> NodeView:
    """A report as plans read it."""
    replication = report.replication
    return NodeView(
        pod_uid=report.pod_uid,
        boot_id=report.boot_id,
        seq=report.seq,
        clock_ms=report.clock_ms,
        agent_version=report.agent_version,
        process=_PROCESS_STATES.get(report.process, ProcessState.SHUT),
        starts=report.starts,
        health=_HEALTHS.get(report.health),
        version=report.server.version if _VERSION.fullmatch(report.server.version) else None,
        run_id=report.server.run_id or None,
        role=_ROLES.get(replication.role),
        replication_id=replication.replication_id or None,
        offset=replication.offset,
        former_replication_id=replication.former_replication_id or None,
        former_id_valid_below=_given(replication, "former_id_valid_below"),
        link=_link(replication.link) if replication.HasField("link") else None,
        good_replicas=_given(replication, "good_replicas"),
        fenced=_given(report, "fenced"),
        copy=_copy(report.persisted),
        promised_term=report.promised_term,
        promised_epoch=report.promised_epoch,
        leaving=report.leaving,
        whole=report.whole,
        settings_digest=_given(report, "settings_digest"),
        misses_primary=report.misses_primary,
        terms=_terms(report.terms) if report.HasField("terms") else None,
        keeps_terms=report.keeps_terms,
        disk_error=_DISK_ERRORS.get(report.disk_error),
        cluster=cluster_view_of(report.cluster) if report.HasField("cluster") else None,
        kept_nodes=nodes_view_of(report.kept_nodes),
    )


def outcome_of(result: pb.Result) -> Outcome:
    """How an order ended."""
    return _OUTCOMES.get(result.outcome, Outcome.UNKNOWN)


def order_message(name: str, order: pb.Order, fields: dict[str, Any]) -> Message:
    """The request of an order by its name in agent.proto; an address, a kind of start or terms may be in the fields."""
    request = message_factory.GetMessageClass(_SERVICE.methods_by_name[name].input_type)
    return request(order=order, **{field: _wire_value(value) for field, value in fields.items()})


def _wire_value(value: object) -> object:
    if isinstance(value, tuple):
        return [_wire_value(each) for each in value]
    spell = _SPELLINGS.get(type(value))
    return spell(value) if spell else value


def _wire_terms(terms: Terms) -> pb.Terms:
    return pb.Terms(
        sets=[pb.MemberSet(nodes=members) for members in terms.sets],
        fence_after_ms=terms.fence_after_ms,
        missed_after_ms=terms.missed_after_ms,
        least_replicas=terms.least_replicas,
        elected=terms.elected,
    )


_SPELLINGS: Mapping[type, Callable[[Any], object]] = {
    Address: lambda value: pb.Address(host=value.host, port=value.port),
    StartKind: lambda value: f"START_KIND_{value.name}",
    Terms: _wire_terms,
    **CLUSTER_SPELLINGS,
}


def _link(link: pb.Link) -> LinkView | None:
    # A link whose other end is not named says nothing that a plan could use.
    if not link.primary.host or link.primary.port not in _PORTS:
        return None
    return LinkView(
        primary=Address(link.primary.host, link.primary.port),
        up=link.up,
        syncing=link.sync_in_progress,
        received_offset=link.received_offset,
    )


def _terms(terms: pb.Terms) -> Terms:
    return Terms(
        sets=tuple(tuple(each.nodes) for each in terms.sets),
        fence_after_ms=terms.fence_after_ms,
        missed_after_ms=terms.missed_after_ms,
        least_replicas=terms.least_replicas,
        elected=terms.elected,
    )


def _copy(persisted: pb.Persisted) -> CopyView:
    return CopyView(
        rdb=persisted.rdb,
        aof=persisted.aof,
        epoch=_given(persisted, "epoch"),
        was_primary=persisted.was_primary,
        offset=persisted.offset,
    )


def _given(message: Message, field: str) -> Any:  # noqa: ANN401 - of the field's own type
    return getattr(message, field) if message.HasField(field) else None
