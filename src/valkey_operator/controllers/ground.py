"""What all controllers stand on: the caches of every kind they read, shared between them.

Owns: which caches there are and how they are indexed. Refuses to know: who reads what.
"""

from dataclasses import dataclass
from typing import TypeVar

from valkey_operator.controllers import kinds
from valkey_operator.controllers.kinds import Kind
from valkey_operator.core.names import NODE_LABEL, NOT_OURS, OWNER_LABEL
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.indices import Index, by_label, by_owner_uid
from valkey_operator.kube.objects import Key, KubeObject, Query
from valkey_operator.kube.store import Store
from valkey_operator.kube.versions import Versions

T = TypeVar("T", bound=KubeObject)

BY_OWNER_UID, BY_OWNER, BY_NODE, BY_MACHINE = "owner uid", "owner", "node", "machine"
# Nobody refers to these, and there may be very many of them.
_NO_CONFIG_MAP = "metadata.name!=kube-root-ca.crt"
_NO_SECRET = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token"  # noqa: S105 - a selector


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The caches. `machines` and `storage_classes` are None where the operator may see one namespace only.

    `users_secrets` and `users_config_maps` are what others have made and a spec may refer to.
    """

    valkeys: Store[kinds.ValkeyObject]
    clusters: Store[kinds.ClusterObject]
    nodes: Store[kinds.NodeObject]
    shards: Store[kinds.ShardObject]
    defaults: Store[kinds.DefaultsObject]
    services: Store[kinds.ServiceObject]
    slices: Store[KubeObject]
    secrets: Store[KubeObject]
    config_maps: Store[KubeObject]
    users_secrets: Versions
    users_config_maps: Versions
    claims: Store[kinds.ClaimObject]
    service_accounts: Store[KubeObject]
    roles: Store[KubeObject]
    role_bindings: Store[KubeObject]
    budgets: Store[KubeObject]
    pods: Store[kinds.PodObject]
    stateful_sets: Store[KubeObject]
    deployments: Store[KubeObject]
    machines: Store[kinds.MachineObject] | None
    storage_classes: Versions | None

    def machine_of(self, name: str) -> kinds.MachineObject | None:
        """One of Kubernetes' own nodes, if we may see them."""
        return self.machines.get(Key("", name)) if self.machines is not None else None


def make_ground(caches: Caches, namespace: str | None) -> Ground:
    """All caches, of one namespace or of the whole cluster."""

    def cache(kind: Kind[T], indices: dict[str, Index[T]] | None = None) -> Store[T]:
        selector = kind.label if kind.labelled else None
        scope = namespace if kind.resource.namespaced else None
        return caches.cache(Query(kind.resource, scope, selector), kind.projection, indices)

    def others(kind: Kind[KubeObject], field_selector: str) -> Versions:
        return caches.versions(Query(kind.resource, namespace, NOT_OURS, field_selector))

    return Ground(
        valkeys=cache(kinds.VALKEYS),
        clusters=cache(kinds.CLUSTERS),
        nodes=cache(kinds.NODES, {BY_OWNER_UID: by_owner_uid, BY_OWNER: by_label(OWNER_LABEL)}),
        shards=cache(kinds.SHARDS),
        defaults=cache(kinds.DEFAULTS),
        services=cache(kinds.SERVICES, {BY_OWNER: by_label(OWNER_LABEL)}),
        slices=cache(kinds.SLICES),
        secrets=cache(kinds.SECRETS),
        config_maps=cache(kinds.CONFIG_MAPS),
        users_secrets=others(kinds.SECRETS, _NO_SECRET),
        users_config_maps=others(kinds.CONFIG_MAPS, _NO_CONFIG_MAP),
        claims=cache(kinds.CLAIMS, {BY_OWNER: by_label(OWNER_LABEL)}),
        service_accounts=cache(kinds.SERVICE_ACCOUNTS),
        roles=cache(kinds.ROLES),
        role_bindings=cache(kinds.ROLE_BINDINGS),
        budgets=cache(kinds.BUDGETS),
        pods=cache(
            kinds.PODS,
            {
                BY_NODE: by_label(NODE_LABEL),
                BY_OWNER: by_label(OWNER_LABEL),
                BY_MACHINE: lambda pod: [pod.spec.node_name],
            },
        ),
        stateful_sets=cache(kinds.STATEFUL_SETS),
        deployments=cache(kinds.DEPLOYMENTS),
        machines=cache(kinds.MACHINES) if namespace is None else None,
        storage_classes=caches.versions(Query(kinds.STORAGE_CLASSES.resource)) if namespace is None else None,
    )
