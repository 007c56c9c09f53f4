"""What a node says of itself: the whole state as one value, numbered.

Owns: what belongs into a report, and when it is a new one. Refuses to know: how the facts were found, and who reads it.

A report is told apart by (pod_uid, boot_id, seq). Offsets move with every write: they are in the report, but only a
change of anything else makes a new number, so that a busy server does not send one at every look.
"""

import msgspec

from valkey_operator.agent.cluster_state import without_counts
from valkey_operator.agent.live_settings import NOT_KNOWN, Configured
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import PARK_HOST
from valkey_operator.valkey.info import ReplicationInfo
from valkey_operator.valkey.states import ProcessState


class Persisted(msgspec.Struct, frozen=True, kw_only=True):
    """Files a restarted server would read, and the mark of the copy they are (epoch None: never marked).

    The mark counts only where `rdb` or `aof` is true: it outlives data that were in memory alone.
    """

    rdb: bool = False
    aof: bool = False
    epoch: int | None = None
    was_primary: bool = False
    offset: int = 0


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that may change."""

    process: Watched = Watched()
    server: ServerView | None = None
    persisted: Persisted = Persisted()
    promise: Promise = Promise()
    leaving: bool = False
    misses_primary: bool = False
    """No primary was let write for so long that whatever was granted has run out."""
    whole: ProcessId | None = None
    """The process whose data set in memory was complete at least once since it started."""
    configured: Configured | None = None
    """The live settings of the process that was let in last."""
    kept_nodes: str = ""
    """The nodes.conf with which the next server would start; empty: none, or a server runs."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Facts with a name and a number. `boot_id` is new with every start of the agent, and `seq` starts at 1 then."""

    pod_uid: str
    boot_id: str
    agent_version: str
    seq: int
    facts: Facts
    keeps_terms: bool = False
    """Whether this agent can keep a cluster node to terms of writing."""


def next_report(before: Report, facts: Facts) -> Report:
    """The report after a look; the number grows only with what somebody must be told of."""
    changed = without_positions(facts) != without_positions(before.facts)
    return msgspec.structs.replace(before, seq=before.seq + 1 if changed else before.seq, facts=facts)


def without_positions(facts: Facts) -> Facts:
    """The facts without what changes by itself: offsets and the age of things."""
    persisted = msgspec.structs.replace(facts.persisted, offset=0)
    return msgspec.structs.replace(facts, persisted=persisted, server=_without_age(facts.server))


def _without_age(view: ServerView | None) -> ServerView | None:
    if view is None or view.replication is None or view.server is None:
        return view
    return msgspec.structs.replace(
        view,
        server=msgspec.structs.replace(view.server, uptime_s=0),
        replication=_without_offsets(view.replication),
        cluster=None if view.cluster is None else without_counts(view.cluster),
    )


def is_running(facts: Facts) -> bool:
    """Whether there is a server to speak with."""
    return facts.process.state is ProcessState.RUNNING


def is_past_gate(facts: Facts) -> bool:
    """Whether there is a server that may read and write the data folder."""
    return facts.process.state in {ProcessState.STARTING, ProcessState.RUNNING}


def digest_of_settings(facts: Facts) -> str | None:
    """The digest of the running server's live settings; None: none runs."""
    known = facts.configured
    if not is_running(facts):
        return None
    return known.digest if known is not None and known.process == facts.process.process else NOT_KNOWN


def may_have_to_hand_over(facts: Facts) -> bool:
    """Whether there is a primary with replicas, as far as is known: one that starts or does not answer may be one.

    One that was parked still is, until it follows somebody: its replicas are fetching the last of it.
    """
    if facts.process.state not in {ProcessState.STARTING, ProcessState.RUNNING}:
        return False
    replication = facts.server.replication if facts.server else None
    if replication is None:
        return True
    link = replication.primary_link
    follows = link is not None and link.host != PARK_HOST
    return not follows and bool(replication.replicas)


def _without_offsets(replication: ReplicationInfo) -> ReplicationInfo:
    link = replication.primary_link
    return msgspec.structs.replace(
        replication,
        offset=0,
        replicas=tuple(
            msgspec.structs.replace(replica, acknowledged_offset=0, lag_s=0) for replica in replication.replicas
        ),
        primary_link=None
        if link is None
        else msgspec.structs.replace(link, applied_offset=0, received_offset=0, down_for_s=None),
    )
