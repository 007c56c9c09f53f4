"""What is broken has as many nodes as is counted on, whichever sort it is of."""

import msgspec

from faults.catalogue import KINDS
from faults.settings import NODES, NODES_PER_SHARD, SHARDS, Setting
from testbed.layout import ZONES
from valkey_operator.api.cluster import ValkeyCluster
from valkey_operator.api.valkey import Valkey


def cluster_of(setting: Setting) -> ValkeyCluster:
    return msgspec.convert(setting.manifest("Available"), ValkeyCluster)


def test_every_setting_is_what_the_api_takes() -> None:
    assert msgspec.convert(Setting.VALKEY.manifest("Quorum"), Valkey).spec.replicas == NODES
    for setting in (each for each in Setting if each.is_cluster):
        spec = cluster_of(setting).spec
        assert (spec.shards, spec.replicas) == (SHARDS, NODES_PER_SHARD)


def test_two_of_three_primaries_are_at_home_in_one_zone() -> None:
    zones = cluster_of(Setting.CLUSTER_IN_TWO_ZONES).spec.az_distribution
    assert zones is not None
    assert zones.zones == [*ZONES[:2]]
    assert len(zones.zones) + 1 == SHARDS


def test_every_setting_is_that_of_some_kind() -> None:
    assert {kind.setting for kind in KINDS.values()} == set(Setting)
