"""Sentinel: a group of Sentinels that many Valkeys register with."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import WHOLE_NUMBER, IntOrString, Model, Rule, doc, map_list
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.rules import LONGEST_NAME, MOST_REPLICAS, fitting_name, value_of
from valkey_operator.api.status import Status
from valkey_operator.api.workload import POD_MANAGEMENT_IS_FIXED, PodFields

_REPLICAS = value_of("self", "replicas", "3")


def number(text: str, built_in: int, least: int) -> object:
    """A whole number that may be written as a string."""
    return doc(f"{text} Built in: {built_in}.", minimum=least, pattern=WHOLE_NUMBER, maxLength=10)


class SentinelConfig(Model, frozen=True, kw_only=True):
    """How a Valkey is monitored."""

    down_after_milliseconds: Annotated[
        IntOrString | None, number("A server that was silent for so long is taken for down.", 30000, 1)
    ] = None
    failover_timeout: Annotated[
        IntOrString | None, number("Milliseconds after which a failover is given up and may be tried again.", 180000, 1)
    ] = None
    parallel_syncs: Annotated[
        IntOrString | None, number("How many replicas may copy from a new primary at the same time.", 1, 1)
    ] = None


class SentinelRef(Model, frozen=True, kw_only=True):
    """The Sentinel that watches over a Valkey."""

    name: Annotated[str, doc("Name of a Sentinel of this namespace.", minLength=1, maxLength=253)]
    config: Annotated[
        SentinelConfig | None, doc("How this Valkey is monitored. Built in: the Sentinel's defaultConfig.")
    ] = None


class SentinelSpec(PodFields, frozen=True, kw_only=True):
    """What a user asks for."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        POD_MANAGEMENT_IS_FIXED,
        Rule(
            rule=f"!has(self.quorum) || self.quorum <= {_REPLICAS}",
            message="quorum is %s with replicas %s: set quorum to a number from 1 to %s",
            values=("self.quorum", _REPLICAS, _REPLICAS),
            field=".quorum",
        ),
    )

    replicas: Annotated[
        int | None,
        doc("Number of Sentinels; 3 or another odd number is best. Built in: 3.", minimum=1, maximum=MOST_REPLICAS),
    ] = None
    quorum: Annotated[
        int | None,
        doc(
            "How many Sentinels must agree that a primary is down, from 1 to replicas. Built in: the majority, "
            "replicas / 2 + 1.",
            minimum=1,
            maximum=MOST_REPLICAS,
        ),
    ] = None
    default_config: Annotated[
        SentinelConfig | None, doc("How Valkeys are monitored that do not say it themselves.")
    ] = None


class MonitoredInstance(Model, frozen=True, kw_only=True):
    """A Valkey that is monitored."""

    name: Annotated[str, doc("Name of the Valkey.")]
    namespace: Annotated[str, doc("Its namespace.")]
    primary: Annotated[str | None, doc("The node that the Sentinels take for the primary.")] = None
    replicas: Annotated[int | None, doc("How many replicas the Sentinels know.")] = None
    monitoring: Annotated[bool | None, doc("Whether all Sentinels monitor it.")] = None
    sentinel_config: Annotated[SentinelConfig | None, doc("How it is monitored.")] = None
    last_failover: Annotated[str | None, doc("When a replica last took over.", format="date-time")] = None


class SentinelNodeStatus(Model, frozen=True, kw_only=True):
    """One Sentinel."""

    name: Annotated[str, doc("Name of the node.")]
    ready: Annotated[bool | None, doc("Whether it is Ready.")] = None
    ip: Annotated[str | None, doc("Its address.")] = None


class SentinelStatus(Status, frozen=True, kw_only=True):
    """What was observed."""

    version: Annotated[str | None, doc("Version of the Sentinels, once all run the same.")] = None
    total_replicas: Annotated[int | None, doc("Pods that should be there.")] = None
    ready_replicas: Annotated[int | None, doc("Pods that are Ready.")] = None
    selector: Annotated[str | None, doc("Label selector of the pods.")] = None
    monitored_instances: Annotated[
        list[MonitoredInstance] | None,
        map_list("The Valkeys that registered.", "namespace", "name", at_most=1000),
    ] = None
    sentinels: Annotated[list[SentinelNodeStatus] | None, map_list("The Sentinels.", "name", at_most=MOST_REPLICAS)] = (
        None
    )


class Sentinel(Model, frozen=True, kw_only=True):
    """A group of Sentinels, which watch over the Valkeys that register and replace a lost primary."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_NAME),)

    api_version: str = API_VERSION
    kind: Literal["Sentinel"] = "Sentinel"
    metadata: ObjectMeta
    spec: Annotated[SentinelSpec, doc("What is asked for.")]
    status: Annotated[SentinelStatus | None, doc("What was observed.")] = None
