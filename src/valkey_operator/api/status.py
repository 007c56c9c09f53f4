"""What every kind reports about itself: state, reason, conditions, and the parts that several kinds share."""

import enum
from typing import Annotated, Literal

from valkey_operator.api.fields import Model, doc, map_list

State = Literal[
    "Initializing",
    "Reconciling",
    "Ready",
    "Degraded",
    "Suspended",
    "Failed",
    "Upgrading",
    "BackingUp",
    "Restoring",
    "Unbound",
]
ObservedRole = Literal["primary", "replica", "unknown"]


class ConditionType(enum.StrEnum):
    """The conditions that a person can rely on to be there."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    TLS_CONFIGURED = "TLSConfigured"
    ACL_SYNCED = "ACLSynced"
    SLOTS_COVERED = "SlotsCovered"
    VIEWS_DIFFER = "ViewsDiffer"
    PRIMARY_ELECTED = "PrimaryElected"
    SPEC_VALID = "SpecValid"
    NAME_CONFLICT = "NameConflict"
    VOLUME_REFUSED = "VolumeRefused"
    REFUSED = "Refused"
    WISH_OPEN = "WishOpen"
    WRITES_STOP = "WritesStop"


class Condition(Model, frozen=True, kw_only=True):
    """One aspect of the object's state, as other Kubernetes objects have it."""

    type: Annotated[str, doc("Which aspect.", minLength=1, maxLength=316)]
    status: Annotated[Literal["True", "False", "Unknown"], doc("Whether it holds.")]
    reason: Annotated[str, doc("Why, in one word for programs.", minLength=1, maxLength=1024)]
    message: Annotated[str, doc("Why, and what to do, for people.", maxLength=32768)]
    last_transition_time: Annotated[str, doc("Since when it is so.", format="date-time")]
    observed_generation: Annotated[int | None, doc("The generation of the spec that this is about.", minimum=0)] = None


class Status(Model, frozen=True, kw_only=True):
    """What every status begins with."""

    state: Annotated[State | None, doc("The state in one word.")] = None
    reason: Annotated[str | None, doc("Why it is in that state, in one word for programs.")] = None
    message: Annotated[str | None, doc("Why it is in that state and what to do next, for people.")] = None
    observed_generation: Annotated[
        int | None, doc("The generation of the spec that this status is about.", minimum=0)
    ] = None
    conditions: Annotated[list[Condition] | None, map_list("Aspects of the state.", "type", at_most=32)] = None


class Operation(Model, frozen=True, kw_only=True):
    """A change that is being carried out."""

    type: Annotated[str, doc("What is being done, such as Switchover or Failover.")]
    target: Annotated[str | None, doc("The node it is done to.")] = None
    reason: Annotated[str | None, doc("Why.")] = None
    started_at: Annotated[str | None, doc("When it began.", format="date-time")] = None


class Endpoints(Model, frozen=True, kw_only=True):
    """Where clients connect, as host:port."""

    write: Annotated[str | None, doc("The primary.")] = None
    read: Annotated[str | None, doc("The replicas.")] = None
    nodes: Annotated[str | None, doc("All nodes (headless).")] = None


class TlsStatus(Model, frozen=True, kw_only=True):
    """What is known about the certificates."""

    enabled: Annotated[bool | None, doc("Whether connections are encrypted.")] = None
    certificate_status: Annotated[str | None, doc("Whether the certificate is valid, and if not, why.")] = None


class AclUserStatus(Model, frozen=True, kw_only=True):
    """A user as the servers know it."""

    name: Annotated[str, doc("Name of the user.")]
    status: Annotated[str | None, doc("Whether the servers know it, and if not, why.")] = None


class AclStatus(Model, frozen=True, kw_only=True):
    """What is known about the users."""

    enabled: Annotated[bool | None, doc("Whether users are managed.")] = None
    synced: Annotated[bool | None, doc("Whether every server has the same users as the spec.")] = None
    users: Annotated[list[AclUserStatus] | None, map_list("The users.", "name", at_most=128)] = None


class ExporterStatus(Model, frozen=True, kw_only=True):
    """Where the metrics are."""

    enabled: Annotated[bool | None, doc("Whether the exporter runs.")] = None
    metrics_endpoint: Annotated[str | None, doc("Address of the metrics.")] = None


class WorkloadStatus(Status, frozen=True, kw_only=True):
    """What Valkey and ValkeyCluster report alike."""

    version: Annotated[
        str | None, doc("Version of the servers; the one that all had last, where they differ or none runs.")
    ] = None
    total_replicas: Annotated[int | None, doc("Pods that should be there.")] = None
    ready_replicas: Annotated[int | None, doc("Pods that are Ready.")] = None
    secret_name: Annotated[str | None, doc("The Secret with which clients log in.")] = None
    endpoints: Annotated[Endpoints | None, doc("Where clients connect.")] = None
    tls: Annotated[TlsStatus | None, doc("Certificates.")] = None
    acl: Annotated[AclStatus | None, doc("Users.")] = None
    exporter: Annotated[ExporterStatus | None, doc("Metrics.")] = None
