"""The status of a ValkeyCluster as a person has reviewed it."""

from pathlib import Path

import msgspec
import pytest

from tests.support.cluster_render import OWNER, effective
from tests.support.clusters import NOW, all_nodes, facts, formed, slots, with_node
from tests.support.golden import assert_matches_golden
from tests.support.render import as_yaml
from valkey_operator.core.cluster.facts import ClusterFacts
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.status.cluster import ClusterFindings, cluster_status
from valkey_operator.valkey.slots import Slots

FOLDER = Path(__file__).parent / "cluster_status"


def _growing() -> ClusterFacts:
    fresh = {name: node for name, node in formed(4).items() if name.startswith("c-3-")}
    world = with_node({**formed(), **fresh}, "c-3-0", slots=Slots(), epoch=4)
    return facts(world, shards=4)


CLUSTERS = {
    "healthy": facts(all_nodes(formed(), member={"zone": "a"})),
    "growing": _growing(),
    "slots-lost": facts(with_node(formed(), "c-1-0", slots=slots("5463-10922"))),
    "slots-disputed": facts(with_node(formed(), "c-1-0", slots=slots("5461-10922"))),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_status_is_as_reviewed(name: str) -> None:
    known = CLUSTERS[name]
    found = ClusterFindings(
        owner=OWNER,
        generation=7,
        spec=effective(shards=known.shards, replicas=known.replicas),
        cluster=look_at(known),
        plan=plan_cluster(known),
        now=NOW,
    )
    status = msgspec.to_builtins(cluster_status(found, None))
    assert_matches_golden(FOLDER / f"{name}.yaml", as_yaml(status))


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(CLUSTERS)
