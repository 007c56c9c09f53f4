"""What Valkey, ValkeyCluster and ValkeyOperatorDefaults have in common, and Sentinel in part."""

from typing import Annotated, Literal

from valkey_operator.api.auth import Auth
from valkey_operator.api.exporter import Exporter
from valkey_operator.api.fields import ConfigValue, Json, Model, doc
from valkey_operator.api.persistence import Persistence
from valkey_operator.api.placement import Disruption, UpdateStrategy
from valkey_operator.api.references import NameRef
from valkey_operator.api.replication import Durability, Failover, Replication
from valkey_operator.api.rules import immutable, quoted, volume_rules
from valkey_operator.api.service import ReadService, Service
from valkey_operator.api.tls import OperatorMtls, Tls

PodManagementType = Literal["statefulset", "deployment"]

POD_MANAGEMENT_IS_FIXED = immutable("podManagementType", quoted("statefulset"), "create a new object")
WORKLOAD_RULES = (POD_MANAGEMENT_IS_FIXED, *volume_rules())


class Sidecar(Model, frozen=True, kw_only=True):
    """The agent beside each server."""

    image: Annotated[
        str | None, doc("Image of the agent. Built in: the operator's own image.", minLength=1, maxLength=1024)
    ] = None
    resources: Annotated[
        Json | None, doc("Resources of the agent. Built in: none.", kubernetes="ResourceRequirements")
    ] = None


class Module(Model, frozen=True, kw_only=True):
    """A module that the server loads at its start."""

    path: Annotated[
        str, doc("Path of the module in the image.", minLength=1, maxLength=1024, pattern=r"^/[^\n\r\x00]*$")
    ]
    args: Annotated[
        list[Annotated[str, doc("An argument.", maxLength=1024, pattern=r"^[^\n\r\x00]*$")]] | None,
        doc("Arguments of the module. Built in: none.", maxItems=64),
    ] = None


class PodFields(Model, frozen=True, kw_only=True):
    """How the pods of any kind are made and where they run."""

    image: Annotated[
        str | None, doc("Image of the Valkey server. Built in: valkey/valkey:9.1.", minLength=1, maxLength=1024)
    ] = None
    image_pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"] | None,
        doc("When images are pulled. Built in: none, so Kubernetes' own rule."),
    ] = None
    image_pull_secrets: Annotated[
        list[Annotated[Json, doc("", kubernetes="LocalObjectReference")]] | None,
        doc("Secrets to pull images with. Built in: none.", maxItems=16),
    ] = None
    resources: Annotated[
        Json | None,
        doc("CPU and memory of each server. Built in: none.", kubernetes="ResourceRequirements"),
    ] = None
    sidecar: Annotated[Sidecar | None, doc("The agent that runs beside each server.")] = None
    node_selector: Annotated[
        dict[str, str] | None, doc("Labels that a Kubernetes node must have. Built in: none.", maxProperties=64)
    ] = None
    affinity: Annotated[
        Json | None,
        doc(
            "Kubernetes affinity. Built in: pods of one shard prefer different hosts and zones; giving affinity "
            "replaces that.",
            kubernetes="Affinity",
        ),
    ] = None
    tolerations: Annotated[
        list[Annotated[Json, doc("", kubernetes="Toleration")]] | None,
        doc("Taints that are tolerated. Built in: none.", maxItems=64),
    ] = None
    topology_spread_constraints: Annotated[
        list[Annotated[Json, doc("", kubernetes="TopologySpreadConstraint")]] | None,
        doc("How pods spread over zones and hosts. Built in: none.", maxItems=16),
    ] = None
    pod_management_type: Annotated[
        PodManagementType | None,
        doc(
            "Whether each pod is managed by a StatefulSet or a Deployment of one replica. Cannot change after "
            "creation. "
            "Built in: statefulset."
        ),
    ] = None
    labels: Annotated[dict[str, str] | None, doc("Further labels on pods. Built in: none.", maxProperties=64)] = None
    annotations: Annotated[
        dict[str, str] | None, doc("Further annotations on pods. Built in: none.", maxProperties=64)
    ] = None
    security_context: Annotated[
        Json | None,
        doc(
            "Security context of the pods. Built in: one that satisfies the restricted Pod Security profile.",
            kubernetes="PodSecurityContext",
        ),
    ] = None
    priority_class_name: Annotated[
        str | None, doc("Priority class of the pods. Built in: none, so the cluster's default.", maxLength=253)
    ] = None
    termination_grace_period_seconds: Annotated[
        int | None,
        doc(
            "How long a pod may take to hand over, save and stop. Built in: none, so Kubernetes' own, 30.",
            minimum=0,
            maximum=86400,
        ),
    ] = None
    tls: Annotated[Tls | None, doc("Encryption of connections, and its certificates.")] = None
    auth: Annotated[
        Auth | None, doc("Passwords and users. Built in: a generated password in the Secret <name>-auth.")
    ] = None
    config: Annotated[
        dict[str, ConfigValue] | None,
        doc(
            "Directives of valkey.conf that have no field of their own. A value is a string, a number, a "
            "boolean, or a list, "
            "which repeats the directive. Directives that the operator owns are refused, and the refusal names the "
            "field to use instead. Built in: none.",
            maxProperties=256,
        ),
    ] = None
    exporter: Annotated[Exporter | None, doc("Metrics for Prometheus.")] = None
    operator_mtls: Annotated[OperatorMtls | None, doc("Certificates between operator and agents.")] = None


class WorkloadSpec(PodFields, frozen=True, kw_only=True):
    """What servers with data have beyond that."""

    persistence: Annotated[Persistence | None, doc("Volumes, snapshots and the append-only file.")] = None
    durability: Annotated[
        Durability | None,
        doc(
            "What a confirmed write is worth. Cache = come back quickly, even empty; Available = the most advanced "
            "replica takes over, losing at most what was not yet replicated; Quorum = what a client confirmed by WAIT "
            "survives any single failover, which is refused otherwise. Built in: Available."
        ),
    ] = None
    replication: Annotated[Replication | None, doc("How replicas follow their primary.")] = None
    failover: Annotated[
        Failover | None, doc("Failover by the operator; not used with Sentinel or in a ValkeyCluster.")
    ] = None
    service: Annotated[Service | None, doc("The Service <name>, which leads to the primary.")] = None
    read_service: Annotated[ReadService | None, doc("The Service <name>-read, which leads to the replicas.")] = None
    disruption: Annotated[Disruption | None, doc("Protection of pods against evictions.")] = None
    update_strategy: Annotated[UpdateStrategy | None, doc("When pods are replaced for a change.")] = None
    modules: Annotated[
        list[Module] | None,
        doc(
            "Modules to load. Built in: every module in the image's own module folder; an empty list loads none.",
            maxItems=32,
        ),
    ] = None
    config_from: Annotated[
        list[NameRef] | None,
        doc(
            "ConfigMaps of this namespace whose entries are directives; later ones win, and config wins over all.",
            maxItems=16,
        ),
    ] = None
