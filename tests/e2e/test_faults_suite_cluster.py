"""A part of the fault suite for clusters: a run keeps its promises, and its checks find what they are for."""

from collections.abc import Iterator

import pytest

from faults.catalogue import plan_of, setting_of
from faults.cluster_ground import ClusterGround
from faults.crowd import Crowd
from faults.experiment import run
from faults.places import cluster_ground_on, shop_for_faults
from faults.schedule import Plan
from faults.settings import SHARDS
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.test_faults_suite import told
from tests.e2e.valkeys import Shop

pytestmark = [pytest.mark.node_faults, pytest.mark.timeout(900)]

KIND = "cluster-kill-primary"
NOTHING = Plan("cluster-roll", 1, "Available", ())
TAKEN = 5


@pytest.fixture(scope="module")
def clustered(cluster: Cluster) -> Iterator[Shop]:
    """One cluster for all runs."""
    if cluster.testbed is None:
        pytest.skip("needs the nodes of a testbed, and KUBECONFIG names another cluster")
    with shop_for_faults(cluster, setting_of(KIND), "Available") as shop:
        yield shop


def ground_of(shop: Shop, layout: Layout, planned: Plan) -> ClusterGround:
    return cluster_ground_on(shop, layout, planned.faults[0].variant % SHARDS if planned.faults else 0)


def test_what_is_promised_holds_when_a_primary_is_killed(clustered: Shop, layout: Layout) -> None:
    planned = plan_of(KIND, 1)
    found = run(ground_of(clustered, layout, planned), planned)

    assert found.broken == [], told(found)
    assert found.primary_changes >= 1, told(found)
    assert found.primaries_at_once == 1, told(found)
    assert len(found.acknowledged) == 2 * SHARDS, told(found)
    assert min(found.acknowledged.values()) > 0, told(found)


def test_acknowledged_writes_that_vanish_from_one_shard_are_found_lost(clustered: Shop, layout: Layout) -> None:
    ground = ground_of(clustered, layout, NOTHING)

    def take_away(crowd: Crowd) -> None:
        [plain] = [log for log in crowd.history().writers if log.name == "shard-0"]
        ground.shop.say(ground.primary_of(0), "LPOP", crowd.key(plain), str(TAKEN))

    found = run(ground, NOTHING, meanwhile=take_away)

    assert found.lost == {"plain": TAKEN, "confirmed": 0}, told(found)
    assert found.broken == [f"{TAKEN} acknowledged writes are lost"], told(found)
