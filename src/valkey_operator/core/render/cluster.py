"""What the nodes of each shard of a ValkeyCluster are made from.

Owns: the source of a shard's nodes, and what plans must know of spec and directives. Refuses to know: how a node is
rendered (node.py), which nodes there are (core/cluster/scale.py), and who is primary.
"""

from collections.abc import Mapping

from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.names import CLUSTER_KIND, Owner, shard_labels
from valkey_operator.core.render.directives import NODE_TIMEOUT, ConfigMaps, directives_for, in_zone
from valkey_operator.core.render.node import NodeSource
from valkey_operator.core.render.pod import Site
from valkey_operator.core.render.roll import roll_hash
from valkey_operator.core.render.scheduling import zones_of_shard
from valkey_operator.valkey.live import live_settings, settings_digest


def shard_source(owner: Owner, spec: EffectiveCluster, maps: ConfigMaps, *, shard: int, site: Site) -> NodeSource:
    """All that the nodes of one shard are made from; shards differ in their labels and their zones alone."""
    directives, zones = directives_for(spec, maps), zones_of_shard(spec.az_distribution, shard)
    return NodeSource(
        owner=owner,
        labels=shard_labels(CLUSTER_KIND, owner.name, shard),
        spec=spec,
        zones=zones,
        directives=directives,
        roll_hash=roll_hash(spec, zones, directives),
        settings_digest=settings_digest(live_settings(directives)),
        site=site,
    )


def digest_in_zone(source: NodeSource, zone: str | None) -> str:
    """Of the live settings of a node that was seen to run in a zone."""
    return settings_digest(live_settings(in_zone(source.directives, zone)))


def node_timeout_s(directives: Mapping[str, list[str]]) -> float:
    """How long the servers wait until they take a node for failed: what `config` says counts before the field."""
    return int(directives[NODE_TIMEOUT][-1]) / 1000


def home_zones(spec: EffectiveCluster) -> tuple[str, ...]:
    """Where primaries shall move back to, dealt out over the shards in turn; nowhere, if the user wants no failback."""
    zones = spec.az_distribution
    return tuple(zones.zones or ()) if zones.failback == "Automatic" else ()
