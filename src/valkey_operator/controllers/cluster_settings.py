"""Live settings of a ValkeyCluster, which each of its nodes has for the zone that it runs in.

Owns: what each node shall have. Refuses to know: how it is brought there (live_settings.py), and whom that concerns
(core/cluster/settings.py).
"""

from valkey_operator.controllers.cluster_case import ClusterCase
from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight
from valkey_operator.controllers.cluster_orders import epoch_for
from valkey_operator.controllers.kinds import NodeObject
from valkey_operator.controllers.live_settings import LiveSettings, Tell, WantedSettings
from valkey_operator.core.cluster.settings import to_configure
from valkey_operator.core.render.directives import in_zone, origin_of
from valkey_operator.core.validation import Problem
from valkey_operator.valkey.live import live_settings


class ClusterSettings:
    """For one term."""

    def __init__(self, facts: ClusterGround, settings: LiveSettings) -> None:
        self._facts = facts
        self._settings = settings

    async def bring(self, case: ClusterCase, sight: ClusterSight, tell: Tell) -> list[Problem]:
        """To every server that has others; what one of them refuses. No pod is to be started with what one refuses."""
        nodes = {node.key.name: (place, node) for place, node in self._facts.nodes(case.cluster).items()}
        behind = {name: nodes[name] for name in to_configure(sight.facts) if name in nodes}
        wanted = {
            name: (sight.target(name), self._wanted(case, node, place[0])) for name, (place, node) in behind.items()
        }
        epochs = {name: epoch_for(name, sight.facts, sight.facts.record) for name in wanted}
        return await self._settings.bring_each(wanted, tell, epochs)

    def _wanted(self, case: ClusterCase, node: NodeObject, shard: int) -> WantedSettings:
        zone = self._facts.zone(node)
        return WantedSettings(
            settings=live_settings(in_zone(case.source(shard).directives, zone)),
            # Where it runs is no change that a user has made.
            written=live_settings(in_zone(node.directives, zone)),
            origin_of=lambda name: origin_of(name, case.spec, case.maps),
        )
