from typing import Any

import msgspec
import pytest

from tests.support import build
from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.agent.messages import report_message
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.server import ServerView
from valkey_operator.controllers.agents.messages import order_message, view_of
from valkey_operator.controllers.agents.reports import without_positions
from valkey_operator.core.node_view import ClusterNodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Announced, BusAddress, StartKind
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration, parse_nodes
from valkey_operator.valkey.slots import parse_slots
from valkey_operator.valkey.states import Health

NODES = f"{'a' * 40} 10.0.0.1:6379@16379,c-0 myself,master - 0 0 1 connected 0-5461"
MIGRATION = SlotMigration(
    name="m",
    importing=True,
    source="b" * 40,
    target="a" * 40,
    slots=parse_slots("0-9 20"),
    state=MigrationState.FAILED,
    message="OOM",
    updated_s=1794847782,
)
FROM_THE_FUTURE: Any = 99
ORDER = pb.Order(term=1, pod_uid="uid")


def cluster_in(state: pb.ClusterState) -> ClusterNodeView | None:
    return view_of(pb.NodeReport(cluster=state)).cluster


def test_what_an_agent_says_of_a_cluster_node_is_what_plans_read() -> None:
    state = ClusterState(
        nodes=NODES,
        serves=True,
        migrations=(MIGRATION,),
        keys=7,
        keys_in_slots=((5, 2), (6, 0)),
        used_bytes=10,
        limit_bytes=20,
    )
    server = ServerView(health=Health.ANSWERS, server=build.server(), replication=build.primary(), cluster=state)
    report = Report(pod_uid="uid", boot_id="boot", agent_version="1", seq=1, facts=Facts(server=server))
    assert view_of(report_message(report, 1.0)).cluster == ClusterNodeView(
        seen=parse_nodes(NODES),
        serves=True,
        migrations=(MIGRATION,),
        keys=7,
        keys_in_slots={5: 2, 6: 0},
        used_bytes=10,
        limit_bytes=20,
    )


def test_a_file_is_told_as_the_nodes_with_which_a_server_would_start() -> None:
    assert view_of(pb.NodeReport(kept_nodes=NODES)).kept_nodes == parse_nodes(NODES)
    assert view_of(pb.NodeReport()).kept_nodes is None


def test_what_is_not_understood_is_silence_and_a_migration_of_unknown_state_is_under_way() -> None:
    assert cluster_in(pb.ClusterState(nodes="?")) is None
    migrations = [pb.SlotMigration(slots="all"), pb.SlotMigration(slots="0", state=FROM_THE_FUTURE)]
    view = cluster_in(pb.ClusterState(nodes=NODES, migrations=migrations))
    assert view
    assert [each.state for each in view.migrations] == [MigrationState.UNDER_WAY]
    assert view.limit_bytes is None


@pytest.mark.parametrize(
    ("changes", "is_news"),
    [
        ({"keys": 9}, False),
        ({"used_bytes": 9}, False),
        ({"keys_in_slots": {5: 9}}, False),
        ({"keys_in_slots": {5: 0}}, True),
        ({"keys": 0}, True),
        ({"serves": True}, True),
    ],
)
def test_only_what_does_not_move_by_itself_wakes_a_controller(changes: dict[str, object], *, is_news: bool) -> None:
    before = ClusterNodeView(seen=parse_nodes(NODES), keys=7, keys_in_slots={5: 2}, migrations=(MIGRATION,))
    view = view_of(pb.NodeReport())
    one, other = (
        without_positions(msgspec.structs.replace(view, cluster=each))
        for each in (before, msgspec.structs.replace(before, **changes))
    )
    assert (one != other) is is_news


def test_orders_to_cluster_nodes_are_spelled_as_agents_read_them() -> None:
    address = BusAddress("10.0.0.1", 6379, 16379)
    wire = pb.BusAddress(host="10.0.0.1", port=6379, bus_port=16379)
    start = {"kind": StartKind.CLUSTER_NODE, "announced": Announced(address=address, hostname="c-0")}
    assert order_message("Open", ORDER, start) == pb.OpenRequest(
        order=ORDER, kind=pb.START_KIND_CLUSTER_NODE, announced=pb.Announced(address=wire, hostname="c-0")
    )
    assert order_message("Meet", ORDER, {"peers": (address,)}) == pb.MeetRequest(order=ORDER, peers=[wire])
    added = order_message("AddSlots", ORDER, {"slots": parse_slots("0-9 20")})
    assert added == pb.AddSlotsRequest(order=ORDER, slots="0-9 20")
