"""ValkeyPool: many independent Valkeys from one template."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import Model, Rule, doc, map_list
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.placement import RoundRobinZones
from valkey_operator.api.rules import LONGEST_SHARDED_NAME, MOST_SHARDS, fitting_name
from valkey_operator.api.status import State, Status
from valkey_operator.api.valkey import ValkeySpec


class ValkeyPoolSpec(Model, frozen=True, kw_only=True):
    """What a user asks for."""

    shards: Annotated[
        int | None,
        doc(
            "Number of independent Valkeys, named <pool>-<number>. Fewer removes the last ones, with what only "
            "they hold. "
            "Built in: 3.",
            minimum=0,
            maximum=MOST_SHARDS,
        ),
    ] = None
    template: Annotated[ValkeySpec | None, doc("The spec of every Valkey of the pool.")] = None
    max_unavailable_shards: Annotated[
        int | None,
        doc(
            "How many shards may be disturbed by a change at the same time. Built in: 1.",
            minimum=1,
            maximum=MOST_SHARDS,
        ),
    ] = None
    az_distribution: Annotated[RoundRobinZones | None, doc("Availability zones, filled in for each shard in turn.")] = (
        None
    )


class PoolShardStatus(Model, frozen=True, kw_only=True):
    """One Valkey of the pool."""

    name: Annotated[str, doc("Name of the Valkey.")]
    zone: Annotated[str | None, doc("Zone of its primary.")] = None
    state: Annotated[State | None, doc("Its state.")] = None
    ready_replicas: Annotated[int | None, doc("Its pods that are Ready.")] = None


class ValkeyPoolStatus(Status, frozen=True, kw_only=True):
    """What was observed."""

    version: Annotated[str | None, doc("Version of the servers, once all run the same.")] = None
    total_shards: Annotated[int | None, doc("Valkeys that should be there.")] = None
    ready_shards: Annotated[int | None, doc("Valkeys that are Ready.")] = None
    secret_name: Annotated[str | None, doc("The Secret with which clients log in to every shard.")] = None
    shards: Annotated[list[PoolShardStatus] | None, map_list("The Valkeys.", "name", at_most=MOST_SHARDS)] = None


class ValkeyPool(Model, frozen=True, kw_only=True):
    """Many independent Valkeys from one template, over which clients distribute their keys themselves."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_SHARDED_NAME),)

    api_version: str = API_VERSION
    kind: Literal["ValkeyPool"] = "ValkeyPool"
    metadata: ObjectMeta
    spec: Annotated[ValkeyPoolSpec, doc("What is asked for.")]
    status: Annotated[ValkeyPoolStatus | None, doc("What was observed.")] = None
