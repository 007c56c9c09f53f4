"""What is known about a ValkeyCluster, gathered from the caches and from the agents' reports.

Owns: the gathering. Refuses to know: what follows from it.
"""

from collections.abc import Callable

import msgspec

from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.belongings import Belongings
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.former_pods import FormerPods
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import is_unbound
from valkey_operator.controllers.kinds import ClusterObject, NodeObject
from valkey_operator.controllers.pods import node_pod
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, Member
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.scale import Place
from valkey_operator.core.defaults import effective_cluster
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.names import CLUSTER_KIND, EMPTY_ANNOTATION, LOSS_ANNOTATION, Owner, cluster_place, node_host
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.render.cluster import digest_in_zone, home_zones, node_timeout_s
from valkey_operator.core.render.directives import ZONE
from valkey_operator.core.render.node import NodeSource
from valkey_operator.core.render.pod import SERVER_PORT
from valkey_operator.core.shard.facts import has_no_server
from valkey_operator.kube.objects import Key
from valkey_operator.valkey.boot import Address

SourceOf = Callable[[int], NodeSource]
"""What the nodes of a shard are made from."""


class ClusterSight(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as plans see it, and the pods behind it."""

    namespace: str
    cluster: Cluster
    pods: dict[str, PodFacts]

    @property
    def facts(self) -> ClusterFacts:
        """What was gathered."""
        return self.cluster.facts

    def target(self, node: str) -> Target | None:
        """The agent of a node, if it has an address."""
        pod = self.pods.get(node)
        return Target(Key(self.namespace, node), pod.uid, pod.ip) if pod is not None and pod.ip else None

    @property
    def agents(self) -> list[Target]:
        """Agents that run."""
        started = [name for name, pod in self.pods.items() if pod.agent_started]
        return [target for name in started if (target := self.target(name)) is not None]

    @property
    def unheard(self) -> list[Target]:
        """Agents that run, and of which nothing was heard in this term."""
        silent = {each.name for each in self.facts.members if each.view is None}
        return [target for target in self.agents if target.key.name in silent]


class ClusterGround(Belongings[Place]):
    """Questions about one ValkeyCluster after the other."""

    def __init__(self, ground: Ground, reports: Reports, former: FormerPods, operator_namespace: str) -> None:
        super().__init__(ground, CLUSTER_KIND, cluster_place, operator_namespace)
        self._reports = reports
        self._former = former

    def effective(self, cluster: ClusterObject) -> EffectiveCluster:
        """The spec with every default."""
        return effective_cluster(cluster.spec, self.layers(cluster.key.namespace))

    def places(self, cluster: ClusterObject, *, with_volumes: bool) -> set[Place]:
        """Where there are nodes, or volumes that may hold data."""
        volumes = self.claims(cluster) if with_volumes else {}
        filled = {place for place, claim in volumes.items() if EMPTY_ANNOTATION not in claim.metadata.annotations}
        return {*self.nodes(cluster), *filled}

    def zone(self, node: NodeObject) -> str | None:
        """Where a node runs; while it has no pod, where it ran last."""
        pod = node_pod(self._ground, node.key)
        return pod.zone if pod is not None and pod.zone else next(iter(node.directives.get(ZONE, ())), None)

    def gather(
        self, cluster: ClusterObject, spec: EffectiveCluster, record: ClusterRecord, *, source_of: SourceOf, size: Place
    ) -> tuple[ClusterFacts, dict[str, PodFacts]]:
        """The cluster at this moment, and its pods; `size` are the shards that it shall have, and the nodes of each."""
        nodes = self.nodes(cluster)
        pods = {node.key.name: pod for node in nodes.values() if (pod := node_pod(self._ground, node.key)) is not None}
        shards, replicas = size
        facts = ClusterFacts(
            name=cluster.key.name,
            record=record,
            members=tuple(
                self._member(node, place, pods.get(node.key.name), source=source_of(place[0]), size=size)
                for place, node in nodes.items()
            ),
            shards=shards,
            replicas=replicas,
            node_timeout_s=node_timeout_s(source_of(0).directives),
            may_lose=spec.durability == "Cache" or cluster.metadata.annotations.get(LOSS_ANNOTATION) == "true",
            least_replicas=spec.replication.min_replicas_to_write,
            zones=home_zones(spec),
            now=utc_now(),
        )
        return facts, pods

    def _member(
        self, found: NodeObject, place: Place, pod: PodFacts | None, *, source: NodeSource, size: Place
    ) -> Member:
        node, (shard, index) = found.key, place
        service = self._ground.services.get(node)
        address = service.spec.cluster_ip if service is not None else ""
        received = self._reports.get(node, pod.uid) if pod is not None else None
        view = received.view if received else None
        is_ours = not is_unbound(found) and not self.has_own_settings(node)
        known = Member(
            name=node.name,
            shard=shard,
            index=index,
            # A node that is not ours to remove stays.
            wanted=(shard < size[0] and index < size[1]) or is_unbound(found),
            hostname=node_host(node.name, node.namespace),
            address=Address(address, SERVER_PORT) if address else None,
            pod_ended=self._has_ended(node, pod),
            settings_digest=digest_in_zone(source, self.zone(found)) if is_ours else None,
            stale=pod is not None and pod.roll_hash != source.roll_hash and not self.is_frozen(found),
            view=view,
        )
        return as_heard(as_seen(known, pod), view)

    def _has_ended(self, node: Key, pod: PodFacts | None) -> bool:
        """Whether nothing runs any more of the pod in which its server was, as far as anybody has told.

        A pod without an address was never ordered anything: what counts is the one before it, whose agent outlives its
        server and tells of the end.
        """
        if pod is not None and (pod.ip is not None or self._former.has_ended(pod.uid)):
            return self._former.has_ended(pod.uid)
        last = self._reports.get(node)
        return last is not None and (self._former.has_ended(last.view.pod_uid) or has_no_server(last.view))


def as_seen(member: Member, pod: PodFacts | None) -> Member:
    """With what Kubernetes says of its pod."""
    if pod is None:
        return member
    return msgspec.structs.replace(
        member,
        pod_ready=pod.ready,
        pod_leaving=pod.leaving,
        server_started=pod.server_started,
        cordoned=pod.cordoned,
        zone=pod.zone,
        machine=pod.machine,
    )


def as_heard(member: Member, view: NodeView | None) -> Member:
    """With what its server says of the cluster, or the file with which the next one would start."""
    if view is None:
        return member
    known = msgspec.structs.replace(member, kept=view.kept_nodes)
    if view.cluster is None:
        return known
    return msgspec.structs.replace(
        known,
        seen=view.cluster.seen,
        serves=view.cluster.serves,
        migrations=view.cluster.migrations,
        keys=view.cluster.keys,
        keys_in_slots=view.cluster.keys_in_slots,
        used_bytes=view.cluster.used_bytes,
        limit_bytes=view.cluster.limit_bytes,
    )


def owner_of(cluster: ClusterObject) -> Owner:
    """A ValkeyCluster as the owner of what is made for it."""
    meta = cluster.metadata
    return Owner(kind=CLUSTER_KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid)
