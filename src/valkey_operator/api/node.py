"""ValkeyNode: one pod with its workload, Service and volume. Made by the operator, never by a user."""

from typing import Annotated, ClassVar, Literal

import msgspec

from valkey_operator.api.fields import Json, Model, Rule, doc
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.persistence import Volume
from valkey_operator.api.rules import LONGEST_NODE_NAME, fitting_name, volume_rules
from valkey_operator.api.service import Service
from valkey_operator.api.status import ObservedRole, Status
from valkey_operator.api.workload import POD_MANAGEMENT_IS_FIXED, PodManagementType


class NodeCluster(Model, frozen=True, kw_only=True):
    """Cluster mode of one server."""

    enabled: Annotated[bool | None, doc("Start the server in cluster mode. Built in: false.")] = None
    slots: Annotated[
        list[
            Annotated[
                str, doc("A slot, or a range such as 0-5461.", maxLength=11, pattern=r"^[0-9]{1,5}(-[0-9]{1,5})?$")
            ]
        ]
        | None,
        doc("Slots that its shard is to own.", maxItems=16384),
    ] = None


class NodeConfig(Model, frozen=True, kw_only=True):
    """What one server is configured with."""

    cluster: Annotated[NodeCluster | None, doc("Cluster mode.")] = None
    directives: Annotated[
        dict[str, list[str]] | None,
        doc("Directives of valkey.conf with their values, complete.", maxProperties=512),
    ] = None


class ValkeyNodeSpec(Model, frozen=True, kw_only=True):
    """What the object that owns the node asks for."""

    RULES: ClassVar[tuple[Rule, ...]] = (POD_MANAGEMENT_IS_FIXED, *volume_rules())

    type: Annotated[Literal["valkey", "sentinel"] | None, doc("What runs in the pod. Built in: valkey.")] = None
    pod_management_type: Annotated[
        PodManagementType | None,
        doc("A StatefulSet or a Deployment of one replica. Cannot change after creation. Built in: statefulset."),
    ] = None
    pod_template: Annotated[Json | None, doc("The pod, as Kubernetes' PodTemplateSpec.")] = None
    persistence: Annotated[Volume | None, doc("The volume of the pod.")] = None
    service: Annotated[Service | None, doc("The pod's own Service.")] = None
    valkey_config: Annotated[NodeConfig | None, doc("What the server is configured with, if type is valkey.")] = None


class ValkeyNodeStatus(Status, frozen=True, kw_only=True):
    """What was observed."""

    ready: Annotated[bool | None, doc("Whether the pod is Ready.")] = None
    version: Annotated[str | None, doc("Version of the server.")] = None
    zone: Annotated[str | None, doc("The availability zone it runs in.")] = None
    pod_name: Annotated[str | None, doc("Name of the pod.")] = None
    pod_ip: Annotated[str | None, doc("Address of the pod.")] = msgspec.field(default=None, name="podIP")
    service_name: Annotated[str | None, doc("Name of its Service.")] = None
    service_ip: Annotated[str | None, doc("Address of its Service; it outlives the pod.")] = msgspec.field(
        default=None, name="serviceIP"
    )
    pvc_name: Annotated[str | None, doc("Name of its volume claim.")] = None
    managed_resource_name: Annotated[str | None, doc("Name of the workload that makes the pod.")] = None
    managed_resource_kind: Annotated[str | None, doc("Kind of that workload.")] = None
    observed_role: Annotated[ObservedRole | None, doc("What the server said it is; unknown if it was not reached.")] = (
        None
    )
    observed_replica_of: Annotated[str | None, doc("The node it follows, if it is a replica.")] = None


class ValkeyNode(Model, frozen=True, kw_only=True):
    """One pod with its workload, Service and volume. The operator makes these; do not create them yourself."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_NODE_NAME),)

    api_version: str = API_VERSION
    kind: Literal["ValkeyNode"] = "ValkeyNode"
    metadata: ObjectMeta
    # Atomic: an apply of the operator's also takes away what somebody else has added.
    spec: Annotated[ValkeyNodeSpec, doc("What is asked for.", **{"x-kubernetes-map-type": "atomic"})]
    status: Annotated[ValkeyNodeStatus | None, doc("What was observed.")] = None
