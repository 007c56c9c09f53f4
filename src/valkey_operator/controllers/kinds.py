"""The kinds that the controllers read and write, each with the part of it that is kept in memory.

Owns: resources and projections. Refuses to know: who uses them for what.
"""

from typing import Generic, TypeVar

import msgspec

from valkey_operator.api.cluster import ValkeyClusterSpec, ValkeyClusterStatus
from valkey_operator.api.meta import GROUP, VERSION
from valkey_operator.api.node import ValkeyNodeSpec, ValkeyNodeStatus
from valkey_operator.api.operator_defaults import DefaultsSpec
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.api.valkey import ValkeySpec, ValkeyStatus
from valkey_operator.core.names import CLUSTER_KIND, MANAGER, OURS, SLICE_MANAGER_LABEL
from valkey_operator.kube.objects import KubeObject, Resource

T = TypeVar("T", bound=KubeObject)


class Kind(msgspec.Struct, Generic[T], frozen=True):
    """A resource and what is kept of it; `labelled`: only objects with the operator's label are watched."""

    resource: Resource
    projection: type[T]
    labelled: bool = True
    label: str = OURS
    """That label, as a selector."""


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a projection."""


class ValkeyObject(KubeObject, frozen=True):
    """A Valkey."""

    spec: ValkeySpec
    status: ValkeyStatus | None = None


class ClusterObject(KubeObject, frozen=True):
    """A ValkeyCluster."""

    spec: ValkeyClusterSpec
    status: ValkeyClusterStatus | None = None


class NodeObject(KubeObject, frozen=True):
    """A ValkeyNode."""

    spec: ValkeyNodeSpec
    status: ValkeyNodeStatus | None = None

    @property
    def directives(self) -> dict[str, list[str]]:
        """What its server reads at its next start."""
        return (self.spec.valkey_config.directives if self.spec.valkey_config else None) or {}


class ShardObject(KubeObject, frozen=True):
    """A ValkeyShard."""

    spec: ValkeyShardSpec


class DefaultsObject(KubeObject, frozen=True):
    """A ValkeyOperatorDefaults."""

    spec: DefaultsSpec


class ServiceSpec(Part, frozen=True):
    """Where a Service is reached, and whom it finds."""

    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] = {}


class ServiceObject(KubeObject, frozen=True):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()


class StorageRequests(Part, frozen=True):
    """How large a volume shall be."""

    storage: str = ""


class ClaimResources(Part, frozen=True):
    """What a claim asks for."""

    requests: StorageRequests = StorageRequests()


class ClaimSpec(Part, frozen=True):
    """A claim as asked for."""

    resources: ClaimResources = ClaimResources()


class ClaimCondition(Part, frozen=True):
    """What is going on with a claim."""

    type: str
    status: str
    message: str = ""


class ClaimStatus(Part, frozen=True):
    """A claim as it is."""

    phase: str = ""
    capacity: StorageRequests = StorageRequests()
    conditions: tuple[ClaimCondition, ...] = ()


class ClaimObject(KubeObject, frozen=True):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class Waiting(Part, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Terminated(Part, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    message: str = ""


class ContainerState(Part, frozen=True):
    """One of these is there."""

    waiting: Waiting | None = None
    running: dict[str, str] | None = None
    terminated: Terminated | None = None


class EndedState(Part, frozen=True):
    """The end of a container's former run, if there was one."""

    terminated: Terminated | None = None


class ContainerStatus(Part, frozen=True):
    """One container."""

    name: str
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: EndedState = EndedState()


class PodCondition(Part, frozen=True):
    """One aspect of a pod."""

    type: str
    status: str
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodSpec(Part, frozen=True):
    """Where a pod runs."""

    node_name: str = ""


class PodStatus(Part, frozen=True):
    """How a pod is."""

    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class PodObject(KubeObject, frozen=True):
    """A Pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class MachineSpec(Part, frozen=True):
    """Whether a machine takes new pods."""

    unschedulable: bool = False


class MachineObject(KubeObject, frozen=True):
    """One of Kubernetes' own nodes."""

    spec: MachineSpec = MachineSpec()


VALKEYS = Kind(Resource(GROUP, VERSION, "valkeys", "Valkey"), ValkeyObject, labelled=False)
CLUSTERS = Kind(Resource(GROUP, VERSION, "valkeyclusters", CLUSTER_KIND), ClusterObject, labelled=False)
NODES = Kind(Resource(GROUP, VERSION, "valkeynodes", "ValkeyNode"), NodeObject, labelled=False)
SHARDS = Kind(Resource(GROUP, VERSION, "valkeyshards", "ValkeyShard"), ShardObject, labelled=False)
DEFAULTS = Kind(
    Resource(GROUP, VERSION, "valkeyoperatordefaults", "ValkeyOperatorDefaults"), DefaultsObject, labelled=False
)
# Those that Kubernetes makes for our Services have all labels of the Service.
SLICES = Kind(
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    KubeObject,
    label=f"{SLICE_MANAGER_LABEL}={MANAGER}",
)
SERVICES = Kind(Resource("", "v1", "services", "Service"), ServiceObject)
SECRETS = Kind(Resource("", "v1", "secrets", "Secret"), KubeObject)
CONFIG_MAPS = Kind(Resource("", "v1", "configmaps", "ConfigMap"), KubeObject)
CLAIMS = Kind(Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"), ClaimObject)
SERVICE_ACCOUNTS = Kind(Resource("", "v1", "serviceaccounts", "ServiceAccount"), KubeObject)
PODS = Kind(Resource("", "v1", "pods", "Pod"), PodObject)
STATEFUL_SETS = Kind(Resource("apps", "v1", "statefulsets", "StatefulSet"), KubeObject)
DEPLOYMENTS = Kind(Resource("apps", "v1", "deployments", "Deployment"), KubeObject)
BUDGETS = Kind(Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"), KubeObject)
ROLES = Kind(Resource("rbac.authorization.k8s.io", "v1", "roles", "Role"), KubeObject)
ROLE_BINDINGS = Kind(Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"), KubeObject)
STORAGE_CLASSES = Kind(
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False), KubeObject, labelled=False
)
MACHINES = Kind(Resource("", "v1", "nodes", "Node", namespaced=False), MachineObject, labelled=False)
