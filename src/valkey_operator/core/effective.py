"""Specs with every default merged in: what plans see. A field that always has a value is never None here.

Fields that the operator hands on as they are, or that may rightly be absent, keep the types of the API.
"""

from typing import Literal

import msgspec

from valkey_operator.api.auth import Acl, Password
from valkey_operator.api.fields import ConfigValue, IntOrString, Json
from valkey_operator.api.persistence import SavePoint
from valkey_operator.api.references import DataKeyRef, IssuerRef, NameRef, SecretKeyRef
from valkey_operator.api.replication import Durability
from valkey_operator.api.sentinel import SentinelRef
from valkey_operator.api.service import ServiceType
from valkey_operator.api.tls import MinVersion, Protocol
from valkey_operator.api.workload import Module, PodManagementType, Sidecar


class Effective(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A part of an effective spec; `forbid_unknown_fields` so that no field of the API is forgotten here."""


class EffectiveRdb(Effective, frozen=True, kw_only=True):
    """Snapshots."""

    enabled: bool
    save_policy: list[SavePoint]
    compression: bool


class EffectiveAof(Effective, frozen=True, kw_only=True):
    """The append-only file."""

    enabled: bool
    fsync: Literal["always", "everysec", "no"]
    rewrite_percentage: int
    rewrite_min_size: IntOrString


class EffectivePersistence(Effective, frozen=True, kw_only=True):
    """The volume, and what Valkey writes to it."""

    enabled: bool
    size: IntOrString
    storage_class_name: str | None = None
    retention: Literal["Retain", "Delete"]
    rdb: EffectiveRdb
    aof: EffectiveAof


class EffectiveInternalCertificates(Effective, frozen=True, kw_only=True):
    """Certificates from the operator's own authority."""

    validity: str
    rotate_before_percent: int


class EffectiveTls(Effective, frozen=True, kw_only=True):
    """Encryption; of the four sources exactly one is not None."""

    enabled: bool
    certificate_ref: NameRef | None = None
    issuer_ref: IssuerRef | None = None
    policy_ref: NameRef | None = None
    internal: EffectiveInternalCertificates | None = None
    cert_key: str
    key_key: str
    ca_key: str
    client_auth: Literal["none", "request", "require"]
    port: int
    disable_plaintext: bool
    min_version: MinVersion
    protocols: list[Protocol]
    ciphers: str | None = None
    cipher_suites: str | None = None
    dh_params_ref: DataKeyRef | None = None
    replication: bool
    cluster_bus: bool


class EffectiveAuth(Effective, frozen=True, kw_only=True):
    """Authentication; without a password of its own, one is generated unless it is disabled."""

    disabled: bool
    password: Password | None = None
    secret_ref: SecretKeyRef | None = None
    acl: Acl | None = None


class EffectiveReplication(Effective, frozen=True, kw_only=True):
    """Replication within a shard."""

    diskless_sync: bool
    min_replicas_to_write: int
    min_replicas_max_lag: int
    backlog_size: IntOrString | None = None


class EffectiveFailover(Effective, frozen=True, kw_only=True):
    """Failover by the operator."""

    enabled: bool
    detect_after_milliseconds: int
    fence_after_milliseconds: int


class EffectiveExporter(Effective, frozen=True, kw_only=True):
    """Metrics."""

    enabled: bool
    image: str
    resources: Json | None = None
    port: int
    service_monitor: bool
    rules: bool
    dashboard: bool


class EffectiveService(Effective, frozen=True, kw_only=True):
    """A Service."""

    type: ServiceType
    annotations: dict[str, str] | None = None


class EffectiveReadService(EffectiveService, frozen=True, kw_only=True):
    """The Service over the replicas."""

    enabled: bool


class EffectiveDisruption(Effective, frozen=True, kw_only=True):
    """Protection against evictions."""

    mode: Literal["Budget", "Guarded", "None"]


class EffectiveUpdateStrategy(Effective, frozen=True, kw_only=True):
    """When pods are replaced."""

    type: Literal["Automatic", "OnApproval"]
    window: str | None = None


class EffectiveOperatorMtls(Effective, frozen=True, kw_only=True):
    """Certificates between operator and agents."""

    client_cert_validity: str
    rotate_before_percent: int


class EffectiveZones(Effective, frozen=True, kw_only=True):
    """What all sorts of zone distribution have in common."""

    node_label: str
    replica_strategy: Literal["anti-affinity", "spread"]
    failback: Literal["Automatic", "Never"]


class EffectiveShardZones(EffectiveZones, frozen=True, kw_only=True):
    """The zones of one shard."""

    primary_zone: str | None = None
    replica_zones: list[str] | None = None


class EffectiveRoundRobinZones(EffectiveZones, frozen=True, kw_only=True):
    """Zones for many shards."""

    zones: list[str] | None = None


class EffectivePods(Effective, frozen=True, kw_only=True):
    """How pods are made and where they run."""

    image: str
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: list[Json] | None = None
    resources: Json | None = None
    sidecar: Sidecar = Sidecar()
    node_selector: dict[str, str] | None = None
    affinity: Json | None = None
    tolerations: list[Json] | None = None
    topology_spread_constraints: list[Json] | None = None
    pod_management_type: PodManagementType
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    security_context: Json | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: int | None = None
    tls: EffectiveTls
    auth: EffectiveAuth
    config: dict[str, ConfigValue] | None = None
    exporter: EffectiveExporter
    operator_mtls: EffectiveOperatorMtls


class EffectiveWorkload(EffectivePods, frozen=True, kw_only=True):
    """What servers with data have beyond that."""

    persistence: EffectivePersistence
    durability: Durability
    replication: EffectiveReplication
    failover: EffectiveFailover
    service: EffectiveService
    read_service: EffectiveReadService
    disruption: EffectiveDisruption
    update_strategy: EffectiveUpdateStrategy
    modules: list[Module] | None = None
    config_from: list[NameRef] | None = None


class EffectiveValkey(EffectiveWorkload, frozen=True, kw_only=True):
    """A Valkey."""

    replicas: int
    sentinel: SentinelRef | None = None
    az_distribution: EffectiveShardZones


class EffectiveClusterSettings(Effective, frozen=True, kw_only=True):
    """How a cluster behaves when nodes are lost."""

    node_timeout: str
    replica_read_only: bool
    allow_reads_when_down: bool
    migration_barrier: int | None = None


class EffectiveCluster(EffectiveWorkload, frozen=True, kw_only=True):
    """A ValkeyCluster."""

    shards: int
    replicas: int
    cluster: EffectiveClusterSettings
    az_distribution: EffectiveRoundRobinZones


class EffectivePool(Effective, frozen=True, kw_only=True):
    """A ValkeyPool; its template stays as it was given, for each Valkey of it gets the defaults itself."""

    shards: int
    max_unavailable_shards: int
    az_distribution: EffectiveRoundRobinZones


class EffectiveSentinelConfig(Effective, frozen=True, kw_only=True):
    """How Valkeys are monitored."""

    down_after_milliseconds: IntOrString
    failover_timeout: IntOrString
    parallel_syncs: IntOrString


class EffectiveSentinel(EffectivePods, frozen=True, kw_only=True):
    """A Sentinel."""

    replicas: int
    quorum: int
    default_config: EffectiveSentinelConfig
