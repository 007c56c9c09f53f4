"""One ValkeyCluster while it is reconciled: its spec with all that this refers to, what is wrong with it, and a look.

Owns: how a case is opened, and the look at its servers at any moment. Refuses to know: what is done about it.
"""

from dataclasses import dataclass, field

from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight, owner_of
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.kinds import ClusterObject, ShardObject
from valkey_operator.controllers.leave_clock import LeaveClock
from valkey_operator.controllers.references import References
from valkey_operator.core.cluster.facts import ClusterRecord
from valkey_operator.core.cluster.record import memory_of
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.scale import Place, asked_size, places_of
from valkey_operator.core.cluster.steps import NOTHING, ClusterPlan
from valkey_operator.core.cluster_validation import check_cluster, check_resume
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.names import CLUSTER_KIND, Owner, node_name, shard_labels, shard_name
from valkey_operator.core.render.cluster import shard_source
from valkey_operator.core.render.directives import ConfigMaps
from valkey_operator.core.render.node import NodeSource
from valkey_operator.core.render.pod import Site
from valkey_operator.core.validation import Problem, check_change, check_supported
from valkey_operator.kube.objects import Key


@dataclass(kw_only=True)
class ClusterCase:
    """One ValkeyCluster while it is reconciled."""

    cluster: ClusterObject
    spec: EffectiveCluster
    maps: ConfigMaps
    site: Site
    wrong: list[Problem]
    """What can be seen in the spec, and in the versions that run."""
    refused: list[Problem] = field(default_factory=list)
    """Found on the way: what a running server does not take."""
    conflicts: list[str] = field(default_factory=list)
    """Found on the way: what is needed and belongs to somebody else."""
    plan: ClusterPlan = NOTHING
    """The last one that was made: what it waits for is told."""
    hindrance: str | None = None
    """What an agent did not do just now, in a sentence; it is tried again."""
    _sources: dict[int, NodeSource] = field(default_factory=dict)

    @property
    def problems(self) -> list[Problem]:
        """Why the spec cannot be carried out."""
        return [*self.wrong, *self.refused]

    @property
    def key(self) -> Key:
        """Which one."""
        return self.cluster.key

    @property
    def owner(self) -> Owner:
        """As the owner of what is made for it."""
        return owner_of(self.cluster)

    def source(self, shard: int) -> NodeSource:
        """What the nodes of a shard are made from."""
        if shard not in self._sources:
            self._sources[shard] = shard_source(self.owner, self.spec, self.maps, shard=shard, site=self.site)
        return self._sources[shard]


class ClusterCases:
    """For one term."""

    def __init__(self, facts: ClusterGround, objects: ClusterObjects, references: References, site: Site) -> None:
        self._facts = facts
        self._objects = objects
        self._references = references
        self._site = site
        self._leave = LeaveClock()

    async def open(self, cluster: ClusterObject) -> ClusterCase:
        """With everything that can be known before servers are asked."""
        spec = self._facts.effective(cluster)
        maps, missing = await self._references.read(cluster.key, spec)
        existing = [node.spec for node in self._facts.nodes(cluster).values()]
        problems = [
            *missing,
            *check_supported(spec),
            *check_cluster(cluster.key.name, spec, maps=maps),
            *check_change(existing, spec),
        ]
        case = ClusterCase(cluster=cluster, spec=spec, maps=maps, site=self._site, wrong=problems)
        case.wrong.extend(check_resume(spec, self.memory(case).asleep))
        return case

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._references.forget(key)
        self._leave.forget(key)

    def record(self, case: ClusterCase) -> ShardObject | None:
        """The record, if it is this cluster's."""
        record = self._objects.shards.store.get(case.key)
        return record if record is not None and self._objects.is_record_of(record, case.owner) else None

    def memory(self, case: ClusterCase) -> ClusterRecord:
        """What is remembered of it."""
        record = self.record(case)
        return ClusterRecord() if record is None else memory_of(record.spec)

    def look(self, case: ClusterCase) -> ClusterSight | None:
        """The cluster at this moment, if it has a record."""
        record = self.record(case)
        return None if record is None else self.sight(case, memory_of(record.spec))

    def sight(self, case: ClusterCase, memory: ClusterRecord) -> ClusterSight:
        """The cluster at this moment, by what is remembered of it."""
        size = self._size(case, memory)
        facts, pods = self._facts.gather(case.cluster, case.spec, memory, source_of=case.source, size=size)
        cluster = look_at(self._leave.judge(case.key, facts))
        return ClusterSight(namespace=case.key.namespace, cluster=cluster, pods=pods)

    def node_keys(self, case: ClusterCase) -> list[Key]:
        """Of nodes that exist, that were just made, and that were just removed."""
        memory = self.memory(case)
        shards, replicas = self._size(case, memory)
        asked = places_of(memory, shards=shards, replicas=replicas)
        names = {node_name(shard_name(shard_labels(CLUSTER_KIND, case.key.name, shard)), at) for shard, at in asked}
        existing = {node.key.name for node in self._facts.nodes(case.cluster).values()}
        return [Key(case.key.namespace, name) for name in sorted(names | existing)]

    def _size(self, case: ClusterCase, memory: ClusterRecord) -> Place:
        """Shards, and nodes of each, that there shall be."""
        places = self._facts.nodes(case.cluster)
        return asked_size(
            memory, places, shards=case.spec.shards, replicas=case.spec.replicas, is_held=bool(case.problems)
        )
