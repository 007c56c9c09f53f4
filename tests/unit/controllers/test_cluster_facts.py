"""What is gathered about a member, from its pod and from its agent."""

import msgspec

from tests.support.clusters import formed, nodes_view
from valkey_operator.controllers.cluster_facts import as_heard, as_seen
from valkey_operator.core.cluster.facts import Member, is_dead, runs
from valkey_operator.core.node_view import ClusterNodeView, NodeView
from valkey_operator.core.pods import PodFacts
from valkey_operator.valkey.states import Health, ProcessState

SEEN = nodes_view(formed(), "c-0-0")
MEMBER = Member(name="c-0-0", shard=0, index=0, hostname="c-0-0.app.svc")
AT_GATE = NodeView(pod_uid="uid", boot_id="boot", seq=1, process=ProcessState.WAITING, kept_nodes=SEEN)
RUNNING = msgspec.structs.replace(
    AT_GATE,
    process=ProcessState.RUNNING,
    health=Health.ANSWERS,
    kept_nodes=None,
    cluster=ClusterNodeView(seen=SEEN, serves=True, keys=7, keys_in_slots={5: 3}, used_bytes=10, limit_bytes=20),
)


def heard(view: NodeView | None) -> Member:
    return as_heard(msgspec.structs.replace(MEMBER, view=view), view)


def test_one_that_was_not_heard_of_is_neither_running_nor_dead() -> None:
    member = heard(None)
    assert (runs(member), is_dead(member), member.seen, member.kept) == (False, False, None, None)


def test_of_a_server_at_the_gate_its_file_is_known() -> None:
    member = heard(AT_GATE)
    assert (runs(member), is_dead(member)) == (False, True)
    assert (member.kept, member.seen) == (SEEN, None)


def test_of_a_server_that_runs_it_is_known_what_it_sees_and_has() -> None:
    member = heard(RUNNING)
    assert runs(member)
    assert (member.seen, member.serves, member.keys, member.keys_in_slots) == (SEEN, True, 7, {5: 3})
    assert (member.used_bytes, member.limit_bytes) == (10, 20)


def test_one_that_runs_and_does_not_tell_of_its_cluster_is_not_taken_for_running() -> None:
    assert not runs(heard(msgspec.structs.replace(RUNNING, cluster=None)))


def test_of_a_pod_it_is_known_where_it_is_and_whether_it_goes() -> None:
    pod = PodFacts(name="c-0-0-0", uid="uid", ready=True, leaving=True, machine="m", zone="a", cordoned=True)
    member = as_seen(MEMBER, pod)
    assert (member.pod_ready, member.pod_leaving, member.machine, member.zone, member.cordoned) == (
        True,
        True,
        "m",
        "a",
        True,
    )


def test_a_node_without_a_pod_is_nowhere() -> None:
    assert as_seen(MEMBER, None) == MEMBER
