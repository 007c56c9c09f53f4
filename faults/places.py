"""Where a run takes place: what is broken is made, and the machine for its clients chosen."""

import contextlib
from collections import Counter
from collections.abc import Iterator

from faults.cluster_ground import ClusterGround
from faults.ground import Ground
from faults.problems import NotThereError
from faults.schedule import Plan
from faults.settings import SHARDS, Setting
from testbed.faults.links import all_nodes
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.sharded import wait_until_well
from tests.e2e.valkeys import Shop

PREFIX = "faults"
"""Of the namespaces."""


@contextlib.contextmanager
def shop_for_faults(cluster: Cluster, setting: Setting, durability: str) -> Iterator[Shop]:
    """In a namespace of its own, gone with the block."""
    with cluster.namespace(PREFIX) as namespace:
        shop = Shop(cluster, namespace, setting.kind)
        apply(shop, setting, durability)
        yield shop


def apply(shop: Shop, setting: Setting, durability: str) -> None:
    """Whole, each node of a shard on a machine of its own."""
    shop.apply(setting.manifest(durability))
    if setting.is_cluster:
        wait_until_well(shop)
    else:
        shop.wait_for_state("Ready")


def ground_for(shop: Shop, layout: Layout, planned: Plan) -> Ground:
    """What a run is about: of a cluster, the shard that its first fault concerns."""
    if shop.kind == Setting.VALKEY.kind:
        return ground_on(shop, layout)
    return cluster_ground_on(shop, layout, planned.faults[0].variant % SHARDS if planned.faults else 0)


def ground_on(shop: Shop, layout: Layout) -> Ground:
    """Clients are on a machine without the primary."""
    away = shop.pods()[shop.status()["primary"]]["spec"]["nodeName"]
    machines = [machine.name for machine in all_nodes(layout)]
    return Ground(shop, layout, next(each for each in reversed(machines) if each != away))


def cluster_ground_on(shop: Shop, layout: Layout, shard: int) -> ClusterGround:
    """Clients are where the fewest primaries are, and not that of the shard."""
    machines = [machine.name for machine in all_nodes(layout)]
    found = ClusterGround(shop, layout, clients_on=machines[-1], shard=shard)
    primaries = found.machines_of_primaries()
    if shard not in primaries:
        raise NotThereError(f"nobody is primary of shard {shard}; primaries are on {primaries}")
    counted = Counter(primaries.values())
    away = [each for each in reversed(machines) if each != primaries[shard]]
    return ClusterGround(shop, layout, clients_on=min(away, key=lambda each: counted[each]), shard=shard)
