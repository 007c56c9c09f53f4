"""ValkeyOperatorDefaults: values for fields that a spec does not give."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.cluster import LEAST_SHARDS, ClusterSettings
from valkey_operator.api.fields import Json, Model, Rule, doc
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.rules import MOST_REPLICAS, MOST_SHARDS
from valkey_operator.api.sentinel import SentinelConfig
from valkey_operator.api.workload import WorkloadSpec

DEFAULTS_NAME = "valkey-operator-defaults"


class ValkeyDefaults(Model, frozen=True, kw_only=True):
    """For Valkeys, those of pools too."""

    replicas: Annotated[int | None, doc("Total number of pods. Built in: 1.", minimum=0, maximum=MOST_REPLICAS)] = None


class PoolDefaults(Model, frozen=True, kw_only=True):
    """For ValkeyPools."""

    shards: Annotated[int | None, doc("Number of Valkeys. Built in: 3.", minimum=0, maximum=MOST_SHARDS)] = None
    max_unavailable_shards: Annotated[
        int | None, doc("Shards that may be disturbed at the same time. Built in: 1.", minimum=1, maximum=MOST_SHARDS)
    ] = None


class ClusterDefaults(Model, frozen=True, kw_only=True):
    """For ValkeyClusters."""

    shards: Annotated[int | None, doc("Number of shards. Built in: 3.", minimum=LEAST_SHARDS, maximum=MOST_SHARDS)] = (
        None
    )
    replicas: Annotated[int | None, doc("Pods of each shard. Built in: 3.", minimum=0, maximum=MOST_REPLICAS)] = None
    cluster: Annotated[ClusterSettings | None, doc("How the cluster behaves when nodes are lost.")] = None


class SentinelDefaults(Model, frozen=True, kw_only=True):
    """For Sentinels."""

    replicas: Annotated[int | None, doc("Number of Sentinels. Built in: 3.", minimum=1, maximum=MOST_REPLICAS)] = None
    quorum: Annotated[
        int | None, doc("Sentinels that must agree. Built in: the majority.", minimum=1, maximum=MOST_REPLICAS)
    ] = None
    resources: Annotated[
        Json | None, doc("CPU and memory of each Sentinel. Built in: none.", kubernetes="ResourceRequirements")
    ] = None
    default_config: Annotated[SentinelConfig | None, doc("How Valkeys are monitored.")] = None


class DefaultsSpec(WorkloadSpec, frozen=True, kw_only=True):
    """Values for every kind, and values for one kind alone."""

    valkey: Annotated[ValkeyDefaults | None, doc("For Valkeys, those of pools too.")] = None
    valkey_pool: Annotated[PoolDefaults | None, doc("For ValkeyPools.")] = None
    valkey_cluster: Annotated[ClusterDefaults | None, doc("For ValkeyClusters.")] = None
    sentinel: Annotated[
        SentinelDefaults | None,
        doc("For Sentinels; of the fields above they take all but resources, auth and config."),
    ] = None


class ValkeyOperatorDefaults(Model, frozen=True, kw_only=True):
    """Values for fields that are not given: in the operator's namespace for all, elsewhere for that namespace."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=f"self.metadata.name == '{DEFAULTS_NAME}'",
            message=f'metadata.name is "%s": only {DEFAULTS_NAME} is read; name it so',
            values=("self.metadata.name",),
        ),
    )

    api_version: str = API_VERSION
    kind: Literal["ValkeyOperatorDefaults"] = "ValkeyOperatorDefaults"
    metadata: ObjectMeta
    spec: Annotated[DefaultsSpec, doc("The values.")]
