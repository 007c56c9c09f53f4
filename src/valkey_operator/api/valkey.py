"""Valkey: one server, or one primary with replicas."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import Model, Rule, doc, map_list
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.placement import ShardZones
from valkey_operator.api.rules import LONGEST_NAME, MOST_REPLICAS, fitting_name, value_of
from valkey_operator.api.sentinel import SentinelRef
from valkey_operator.api.status import ObservedRole, Operation, WorkloadStatus
from valkey_operator.api.workload import WORKLOAD_RULES, WorkloadSpec

_REPLICAS = value_of("self", "replicas", "1")


class ValkeySpec(WorkloadSpec, frozen=True, kw_only=True):
    """What a user asks for."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *WORKLOAD_RULES,
        Rule(
            rule=f"!has(self.sentinel) || {_REPLICAS} == 0 || {_REPLICAS} >= 2",
            message=(
                "replicas is %s with a sentinel: a Sentinel needs a replica to promote; "
                "set replicas to 0 (suspended) or to at least 2, or remove sentinel"
            ),
            values=(_REPLICAS,),
            field=".replicas",
        ),
    )

    replicas: Annotated[
        int | None,
        doc(
            "Total number of pods: 0 = suspended, volumes kept; 1 = one server; 2 and more = a primary and replicas. "
            "Built in: 1.",
            minimum=0,
            maximum=MOST_REPLICAS,
        ),
    ] = None
    sentinel: Annotated[
        SentinelRef | None, doc("The Sentinel that manages failover. Built in: none, so the operator does.")
    ] = None
    az_distribution: Annotated[ShardZones | None, doc("Availability zones of primary and replicas.")] = None


class ValkeyNodeSummary(Model, frozen=True, kw_only=True):
    """One node."""

    name: Annotated[str, doc("Name of the node.")]
    role: Annotated[ObservedRole | None, doc("What it said it is; unknown if it was not reached.")] = None
    ready: Annotated[bool | None, doc("Whether it is Ready.")] = None
    zone: Annotated[str | None, doc("The availability zone it runs in.")] = None


class ValkeyStatus(WorkloadStatus, frozen=True, kw_only=True):
    """What was observed."""

    primary: Annotated[str | None, doc("The node that takes writes.")] = None
    primary_epoch: Annotated[int | None, doc("Counts the changes of the primary.")] = None
    replicas: Annotated[list[str] | None, doc("The nodes that follow it.")] = None
    operation: Annotated[Operation | None, doc("The change of primary that is under way.")] = None
    sentinel_managed: Annotated[bool | None, doc("Whether a Sentinel manages failover.")] = None
    sentinel_name: Annotated[str | None, doc("That Sentinel.")] = None
    selector: Annotated[str | None, doc("Label selector of the pods.")] = None
    nodes: Annotated[list[ValkeyNodeSummary] | None, map_list("All nodes.", "name", at_most=MOST_REPLICAS)] = None


class Valkey(Model, frozen=True, kw_only=True):
    """One Valkey server, or one primary with replicas that take over when it is lost."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_NAME),)

    api_version: str = API_VERSION
    kind: Literal["Valkey"] = "Valkey"
    metadata: ObjectMeta
    spec: Annotated[ValkeySpec, doc("What is asked for.")]
    status: Annotated[ValkeyStatus | None, doc("What was observed.")] = None
