"""The controllers of the operator, each put together from the engine's tools.

Owns: which there are, and which changes wake them. Refuses to know: how any of them works.
"""

from collections.abc import Iterable
from typing import Any

from valkey_operator.api.status import ConditionType
from valkey_operator.cli.engine import BuildController, Tools
from valkey_operator.controllers.agents.reports import report_lane
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.cluster import ClusterController
from valkey_operator.controllers.cluster_facts import ClusterGround
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.former_pods import FormerPods
from valkey_operator.controllers.ground import BY_MACHINE, Ground, make_ground
from valkey_operator.controllers.keeper import is_unbound
from valkey_operator.controllers.kinds import CONFIG_MAPS, SECRETS, DefaultsObject, MachineObject, NodeObject
from valkey_operator.controllers.node import NodeController
from valkey_operator.controllers.node_certificate import NodeCertificates
from valkey_operator.controllers.references import References, Referrers
from valkey_operator.controllers.shard_steps import ShardSteps
from valkey_operator.controllers.signposts import Signposts
from valkey_operator.controllers.valkey import ValkeyController
from valkey_operator.controllers.valkey_facts import Heard, ValkeyGround
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.core.names import CLUSTER_KIND, NODE_LABEL, OWNER_LABEL
from valkey_operator.core.render.pod import Site
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.kube.store import Change, Store
from valkey_operator.runtime.controller import Reconcile
from valkey_operator.runtime.manager import ControllerSpec, Keys, Source, owner_keys


def labelled_keys(label: str) -> Keys[KubeObject]:
    """The object that a label names has to be looked at, in the same namespace."""

    def keys(change: Change[KubeObject]) -> set[Key]:
        states = [state for state in (change.old, change.new) if state is not None]
        named = [(state.key.namespace, state.metadata.labels.get(label)) for state in states]
        return {Key(namespace, name) for namespace, name in named if name}

    return keys


def kept_for(kind: str, label: str) -> Keys[KubeObject]:
    """Whom an object was made for has to be looked at: its owner or, where that was taken off, whom its label names."""
    owners, labelled = owner_keys(kind), labelled_keys(label)

    def keys(change: Change[KubeObject]) -> set[Key]:
        states = [state for state in (change.old, change.new) if state is not None]
        orphaned = any(not state.metadata.owner_references for state in states)
        return {*owners(change), *(labelled(change) if orphaned else ())}

    return keys


def unbound_or_bound(change: Change[KubeObject]) -> set[Key]:
    """Whether a pod may be replaced changes with the mark of its workload; nothing else of that concerns a shard."""
    marks = {is_unbound(state) for state in (change.old, change.new) if state is not None}
    return set() if change.initial or len(marks) == 1 else set(labelled_keys(OWNER_LABEL)(change))


def shard_of_node(change: Change[KubeObject]) -> list[Key]:
    """The Valkey that would have a node of this name, whoever has made it."""
    name = change.key.name.rpartition("-")[0]
    return [Key(change.key.namespace, name)] if name else []


def node_controller(tools: Tools) -> ControllerSpec:
    """The controller of ValkeyNodes."""
    ground = make_ground(tools.caches, tools.namespace)

    def start(term: int) -> Reconcile[Key]:
        client = tools.client_in(term)
        return NodeController(
            ground,
            client,
            tools.metrics,
            tools.reports,
            certificates=lambda secrets: NodeCertificates(client, secrets, tools.authority, utc_now),
        ).reconcile

    def nodes_with_refused_volume(_change: Change[int]) -> list[Key]:
        return [node.key for node in ground.nodes.list() if has_refused_volume(node)]

    owned = (ground.services, ground.config_maps, ground.secrets, ground.stateful_sets, ground.deployments)
    return ControllerSpec(
        name="node",
        sources=[
            Source(ground.nodes),
            *(Source(store, kept_for("ValkeyNode", NODE_LABEL)) for store in owned),
            *(Source(store, labelled_keys(NODE_LABEL)) for store in (ground.pods, ground.claims)),
            *([Source(ground.storage_classes, nodes_with_refused_volume)] if ground.storage_classes else []),
            Source(tools.reports, after_s=0.1),
        ],
        start=start,
    )


def valkey_controller(tools: Tools) -> ControllerSpec:
    """The controller of Valkeys."""
    ground = make_ground(tools.caches, tools.namespace)
    facts = ValkeyGround(ground, Heard(tools.reports, FormerPods(ground.pods), tools.grants), tools.operator_namespace)
    tools.grants.read_from(ground.shards)
    referrers = Referrers()
    versions = {SECRETS.resource: ground.users_secrets, CONFIG_MAPS.resource: ground.users_config_maps}

    def start(term: int) -> Reconcile[Key]:
        tools.grants.begin()
        client = tools.client_in(term)
        objects = ValkeyObjects(ground, client, tools.metrics)
        return ValkeyController(
            facts,
            objects,
            References(client, referrers, versions),
            steps=ShardSteps(
                Signposts(objects.pods, objects.slices, ground.services),
                objects.shards.writer,
                tools.agents.in_term(term),
            ),
            events=tools.events,
            site=site_of(tools),
        ).reconcile

    return ControllerSpec(
        name="valkey",
        sources=[
            Source(ground.valkeys),
            *workload_sources(tools, ground, referrers, kind="Valkey", owners=ground.valkeys),
            Source(ground.nodes, shard_of_node),
        ],
        start=start,
    )


def cluster_controller(tools: Tools) -> ControllerSpec:
    """The controller of ValkeyClusters."""
    ground = make_ground(tools.caches, tools.namespace)
    facts = ClusterGround(ground, tools.reports, FormerPods(ground.pods), tools.operator_namespace)
    referrers = Referrers()
    versions = {SECRETS.resource: ground.users_secrets, CONFIG_MAPS.resource: ground.users_config_maps}

    def start(term: int) -> Reconcile[Key]:
        client = tools.client_in(term)
        return ClusterController(
            facts,
            ClusterObjects(ground, client, tools.metrics),
            References(client, referrers, versions),
            agents=tools.agents.in_term(term),
            events=tools.events,
            site=site_of(tools),
        ).reconcile

    return ControllerSpec(
        name="cluster",
        sources=[
            Source(ground.clusters),
            *workload_sources(tools, ground, referrers, kind=CLUSTER_KIND, owners=ground.clusters),
        ],
        start=start,
    )


def site_of(tools: Tools) -> Site:
    """The operator that agents answer to."""
    return Site(
        operator_namespace=tools.operator_namespace,
        report_service=tools.report_service,
        agent_image=tools.agent_image,
    )


def workload_sources(
    tools: Tools, ground: Ground, referrers: Referrers, *, kind: str, owners: Store[Any]
) -> list[Source[Any]]:
    """What wakes those who have servers with data: their objects and pods, what their specs refer to, and agents."""
    owned: Iterable[Any] = (
        ground.nodes,
        ground.shards,
        ground.services,
        ground.slices,
        ground.secrets,
        ground.service_accounts,
        ground.roles,
        ground.role_bindings,
        ground.budgets,
    )
    unbindable: Iterable[Any] = (ground.stateful_sets, ground.deployments, ground.config_maps)
    others = {SECRETS.resource: ground.users_secrets, CONFIG_MAPS.resource: ground.users_config_maps}
    return [
        *(Source(store, kept_for(kind, OWNER_LABEL)) for store in owned),
        *(Source(store, labelled_keys(OWNER_LABEL)) for store in (ground.pods, ground.claims)),
        *(Source[Any](store, unbound_or_bound) for store in unbindable),
        *([] if ground.machines is None else [Source(ground.machines, lambda change: owners_on(ground, change))]),
        Source(ground.shards),
        Source(ground.defaults, lambda change: owners_under(owners, change, tools.operator_namespace)),
        Source(ground.secrets, referrers.keys(SECRETS.resource)),
        *(Source(store, referrers.keys(resource)) for resource, store in others.items()),
        Source(tools.reports, lambda change: owner_of_node(ground, change.key, kind), lane=report_lane),
    ]


def has_refused_volume(node: NodeObject) -> bool:
    """Whether its volume could not be made as it shall be."""
    conditions = node.status.conditions if node.status else None
    return any(each.type == ConditionType.VOLUME_REFUSED for each in conditions or ())


def owners_under(owners: Store[Any], change: Change[DefaultsObject], operator_namespace: str) -> list[Key]:
    """Those that a ValkeyOperatorDefaults applies to."""
    everywhere = change.key.namespace == operator_namespace
    return [each.key for each in owners.list() if everywhere or each.key.namespace == change.key.namespace]


def owners_on(ground: Ground, change: Change[MachineObject]) -> set[Key]:
    """Those with pods on a machine that was cordoned, or is not any more; nothing else of it concerns them."""
    marks = {state.spec.unschedulable for state in (change.old, change.new) if state is not None}
    if change.initial or len(marks) == 1:
        return set()
    owners = [
        (pod.key.namespace, pod.metadata.labels.get(OWNER_LABEL))
        for pod in ground.pods.by_index(BY_MACHINE, change.key.name)
    ]
    return {Key(namespace, owner) for namespace, owner in owners if owner}


def owner_of_node(ground: Ground, node: Key, kind: str) -> list[Key]:
    """The one of that kind that a node belongs to."""
    found = ground.nodes.get(node)
    if found is None:
        return []
    return [Key(node.namespace, owner.name) for owner in found.metadata.owner_references if owner.kind == kind]


CONTROLLERS: tuple[BuildController, ...] = (valkey_controller, cluster_controller, node_controller)
