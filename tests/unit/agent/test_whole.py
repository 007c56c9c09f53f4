import pytest

from tests.support import build
from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.agent.whole import is_whole, whole_after
from valkey_operator.valkey.info import LinkStatus, ReplicationInfo
from valkey_operator.valkey.states import Health, ProcessState

NOW, BEFORE = ProcessId(9, 2), ProcessId(7, 1)


def facts(
    replication: ReplicationInfo,
    *,
    whole: ProcessId | None,
    health: Health = Health.ANSWERS,
    cluster: ClusterState | None = None,
) -> Facts:
    view = ServerView(health=health, server=build.server(), replication=replication, least_replicas=0, cluster=cluster)
    return Facts(process=Watched(ProcessState.RUNNING, NOW, 1), server=view, whole=whole)


SYNCING = build.replica(status=LinkStatus.DOWN, sync_in_progress=True)
DOWN = build.replica(status=LinkStatus.DOWN, down_for_s=3)
OWNER = ClusterState(nodes="", owns_slots=True)
SPARE = ClusterState(nodes="")


@pytest.mark.parametrize(
    ("told", "whole"),
    [
        pytest.param(facts(build.primary(), whole=None), True, id="a primary's data are its own"),
        pytest.param(facts(build.primary(), whole=None, cluster=OWNER), True, id="an owner's data are its own"),
        pytest.param(facts(build.primary(), whole=None, cluster=SPARE), False, id="a new node of a cluster has none"),
        pytest.param(facts(build.primary(), whole=NOW, cluster=SPARE), False, id="one without slots has none any more"),
        pytest.param(facts(build.replica(), whole=None, cluster=SPARE), True, id="a replica owns no slots anyway"),
        pytest.param(facts(build.replica(), whole=None), True, id="a replica is in sync"),
        pytest.param(facts(DOWN, whole=NOW), True, id="its link broke later"),
        pytest.param(facts(SYNCING, whole=NOW), True, id="a copy is on its way, and the old data are still there"),
        pytest.param(facts(SYNCING, whole=NOW, health=Health.LOADING), False, id="the copy replaces them"),
        pytest.param(facts(DOWN, whole=None), False, id="it was never in sync"),
        pytest.param(facts(DOWN, whole=BEFORE), False, id="that was another process"),
    ],
)
def test_data_are_whole_once_they_were_complete_in_this_process_and_until_they_are_replaced(
    told: Facts, whole: bool
) -> None:
    after = Facts(process=told.process, server=told.server, whole=whole_after(told))
    assert is_whole(after) == whole
