"""What is known about a Valkey, gathered from the caches and from the agents' reports.

Owns: the gathering. Refuses to know: what follows from it.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.belongings import Belongings
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.former_pods import FormerPods
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import is_unbound
from valkey_operator.controllers.kinds import NodeObject, ValkeyObject
from valkey_operator.controllers.pods import node_pod, pod_facts
from valkey_operator.core.defaults import effective_valkey
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import PRIMARY_ANNOTATION, Owner, node_index
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.render.node import NodeSource
from valkey_operator.core.render.pod import SERVER_PORT
from valkey_operator.core.shard.facts import Member, ShardFacts, WritingRules, has_no_server
from valkey_operator.kube.objects import Key
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.states import Health

# Until a server without leave takes no more writes, killed if need be: what the agent's fence.py takes for it.
FENCE_TAKES_S = 0.6


class ShardView(msgspec.Struct, frozen=True):
    """The facts that plans need, and the pods behind them."""

    owner: Owner
    labels: Mapping[str, str]
    facts: ShardFacts
    pods: dict[str, PodFacts]

    def target(self, node: str) -> Target | None:
        """The agent of a node, if it has an address."""
        pod = self.pods.get(node)
        return Target(Key(self.owner.namespace, node), pod.uid, pod.ip) if pod is not None and pod.ip else None

    @property
    def unheard(self) -> list[Target]:
        """Agents that run, and of which nothing was heard in this term."""
        silent = [member.name for member in self.facts.members if member.view is None]
        targets = [self.target(name) for name in silent if name in self.pods]
        return [each for each in targets if each is not None and self.pods[each.key.name].agent_started]


class Heard(msgspec.Struct, frozen=True):
    """What is known of servers beside what the API server keeps."""

    reports: Reports
    former: FormerPods
    grants: Grants


class ValkeyGround(Belongings[int]):
    """Questions about one Valkey after the other."""

    def __init__(self, ground: Ground, heard: Heard, operator_namespace: str) -> None:
        super().__init__(ground, "Valkey", node_index, operator_namespace)
        self._heard = heard

    def effective(self, valkey: ValkeyObject) -> EffectiveValkey:
        """The spec with every default."""
        return effective_valkey(valkey.spec, self.layers(valkey.key.namespace))

    def shard(
        self,
        valkey: ValkeyObject,
        source: NodeSource,
        record: ValkeyShardSpec,
        *,
        writing: WritingRules,
        replicas: int,
    ) -> ShardView:
        """The shard at this moment."""
        nodes = self.nodes(valkey)
        pods = {node.key.name: pod for node in nodes.values() if (pod := node_pod(self._ground, node.key)) is not None}
        ended = self._has_ended(valkey.key, record, pods)
        if record.primary is not None and (vanished := self._vanished(valkey.key, record, pods)) is not None:
            pods[record.primary] = vanished
        members = tuple(
            self._member(node, index, pods.get(node.key.name), wanted=index < replicas, roll_hash=source.roll_hash)
            for index, node in nodes.items()
        )
        facts = ShardFacts(
            record=record,
            members=members,
            replicas=replicas,
            writing=writing,
            settings_digest=source.settings_digest,
            wished=valkey.metadata.annotations.get(PRIMARY_ANNOTATION) or None,
            primary_pod_ended=ended,
            leave_until=self._leave_until(valkey.key, writing),
            now=utc_now(),
        )
        return ShardView(source.owner, source.labels, facts, pods)

    def _member(self, found: NodeObject, index: int, pod: PodFacts | None, *, wanted: bool, roll_hash: str) -> Member:
        node = found.key
        service = self._ground.services.get(node)
        received = self._heard.reports.get(node, pod.uid) if pod is not None else None
        address = service.spec.cluster_ip if service is not None else ""
        return Member(
            name=node.name,
            index=index,
            # A node that is not ours to remove stays.
            wanted=wanted or is_unbound(found),
            address=Address(address, SERVER_PORT) if address else None,
            pod_uid=pod.uid if pod else None,
            pod_ip=pod.ip if pod else None,
            pod_ready=pod is not None and pod.ready,
            pod_leaving=pod is not None and pod.leaving,
            stops_at=pod.stops_at if pod else None,
            changed_at=pod.changed_at if pod else None,
            role_label=pod.role if pod else None,
            server_started=pod is not None and pod.server_started,
            cordoned=pod is not None and pod.cordoned,
            stale=pod is not None and pod.roll_hash != roll_hash and not self.is_frozen(found),
            own_settings=is_unbound(found) or self.has_own_settings(node),
            view=received.view if received else None,
        )

    def _has_ended(self, shard: Key, record: ValkeyShardSpec, pods: Mapping[str, PodFacts]) -> bool:
        """Whether the pod on record is no more: the agent of one that was deleted may have told of its server's end."""
        uid = record.primary_pod
        if uid is None or record.primary is None:
            return False
        told = self._heard.reports.get(Key(shard.namespace, record.primary), uid)
        is_former = _uid_of(pods.get(record.primary)) != uid
        return self._heard.former.has_ended(uid) or (is_former and told is not None and has_no_server(told.view))

    def _vanished(self, shard: Key, record: ValkeyShardSpec, pods: Mapping[str, PodFacts]) -> PodFacts | None:
        """The pod on record, where somebody deleted it by force and its agent still answers: it can hand over."""
        uid, name = record.primary_pod, record.primary
        if uid is None or name is None or _uid_of(pods.get(name)) == uid:
            return None
        gone, told = self._heard.former.vanished(uid), self._heard.reports.get(Key(shard.namespace, name), uid)
        if gone is None or told is None or told.view.health is not Health.ANSWERS:
            return None
        return msgspec.structs.replace(pod_facts(gone, None), leaving=True, ready=False, changed_at=None)

    def _leave_until(self, shard: Key, writing: WritingRules) -> datetime | None:
        """A little more than leave lasts: clocks differ in their pace, and a fence takes its time."""
        if not writing.fence_after_ms:
            return None
        lasts_s = writing.fence_after_ms / 1000 * 1.01 + FENCE_TAKES_S + 0.1
        ago_s = asyncio.get_running_loop().time() - self._heard.grants.last_given(shard)
        return utc_now() + timedelta(seconds=lasts_s - ago_s)


def _uid_of(pod: PodFacts | None) -> str | None:
    return pod.uid if pod is not None else None


def directives_of(node: NodeObject) -> dict[str, list[str]]:
    """What the server of a node reads at its next start."""
    return node.directives


def writing_rules(spec: EffectiveValkey) -> WritingRules:
    """What the spec says about writing. A cache needs nobody's leave: it rather loses what it has."""
    failover = spec.failover
    return WritingRules(
        fence_after_ms=0 if spec.durability == "Cache" else failover.fence_after_milliseconds,
        missed_after_ms=failover.detect_after_milliseconds,
        min_replicas=spec.replication.min_replicas_to_write,
        half_attached=spec.durability == "Quorum",
        fail_over=failover.enabled,
    )


def owner_of(valkey: ValkeyObject) -> Owner:
    """A Valkey as the owner of what is made for it."""
    meta = valkey.metadata
    return Owner(kind="Valkey", namespace=meta.namespace, name=meta.name, uid=meta.uid)
