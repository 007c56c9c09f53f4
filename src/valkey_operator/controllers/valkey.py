"""The controller of Valkeys: observe, plan, act, report.

Owns: the order of these for one Valkey. Refuses to know: what is decided (core), how it is carried out (shard_steps.py,
valkey_objects.py), and how a pod comes to be (node.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field

import msgspec

from valkey_operator.api.status import ConditionType
from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.keeper import NameConflictError, all_done
from valkey_operator.controllers.kinds import SECRETS, SERVICE_ACCOUNTS, NodeObject, ShardObject, ValkeyObject
from valkey_operator.controllers.live_settings import WantedSettings
from valkey_operator.controllers.references import References
from valkey_operator.controllers.shard_steps import ShardSteps
from valkey_operator.controllers.valkey_facts import (
    ShardView,
    ValkeyGround,
    directives_of,
    owner_of,
    writing_rules,
)
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import UNBIND_ANNOTATION, node_index, node_name, shard_labels
from valkey_operator.core.render.directives import ConfigMaps, directives_for, origin_of
from valkey_operator.core.render.node import NodeSource, valkey_node
from valkey_operator.core.render.pod import Site
from valkey_operator.core.render.roll import roll_hash
from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.core.shard.members import last_copy, needed_indices, next_eviction, next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.settings import is_proven
from valkey_operator.core.shard.steps import Reason, ShardPlan
from valkey_operator.core.status.conditions import is_said, news
from valkey_operator.core.status.valkey import Findings, valkey_status
from valkey_operator.core.validation import Problem, check_change, check_supported, check_valkey, warnings_of
from valkey_operator.core.version_change import check_image, image_warnings
from valkey_operator.kube.errors import ForbiddenError, InvalidError
from valkey_operator.kube.events import About, Event, EventRecorder
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import DONE, Result, TransientError
from valkey_operator.valkey.live import live_settings

MOST_ROUNDS = 1000
RECHECK_S = 5.0
_NEEDED_BY_PODS = frozenset({SERVICE_ACCOUNTS.resource.kind, SECRETS.resource.kind})
_TOLD_CONDITIONS = (ConditionType.WISH_OPEN, ConditionType.WRITES_STOP)
_NOT_TOLD = frozenset({Reason.MEMBERS_CHANGED, Reason.WISH_FORGOTTEN})


@dataclass(frozen=True, kw_only=True)
class Case:
    """One Valkey while it is reconciled."""

    valkey: ValkeyObject
    spec: EffectiveValkey
    source: NodeSource
    maps: ConfigMaps
    wrong: list[Problem]
    """What can be seen in the spec, and in the versions that run."""
    refused: list[Problem] = field(default_factory=list)
    """Found on the way: what a running server does not take."""
    conflicts: list[str] = field(default_factory=list)
    """Found on the way: what is needed and belongs to somebody else."""

    @property
    def problems(self) -> list[Problem]:
        """Why the spec cannot be carried out."""
        return [*self.wrong, *self.refused]

    @property
    def key(self) -> Key:
        """Which one."""
        return self.valkey.key


@dataclass(frozen=True, kw_only=True)
class End:
    """How one part of a reconcile went, or all of them together."""

    waits_for: str | None = None
    look_after_s: float | None = None
    refused: str | None = None
    retry: TransientError | None = None


class ValkeyController:
    """For one term."""

    def __init__(
        self,
        facts: ValkeyGround,
        objects: ValkeyObjects,
        references: References,
        *,
        steps: ShardSteps,
        events: EventRecorder,
        site: Site,
    ) -> None:
        self._facts = facts
        self._objects = objects
        self._references = references
        self._steps = steps
        self._events = events
        self._site = site

    async def reconcile(self, key: Key) -> Result:
        """Bring one Valkey closer to its spec, and say how it is."""
        valkey = self._objects.valkeys.store.get(key)
        if valkey is None or valkey.metadata.deletion_timestamp:
            self._references.forget(key)
            return DONE
        if valkey.metadata.annotations.get(UNBIND_ANNOTATION) == "true":
            return await self._unbind(valkey)
        if self._objects.bindings.are_free(key) if valkey.status is None else valkey.status.state == "Unbound":
            await self._objects.bindings.take_up(key)
        case = await self._open(valkey)
        self._warn(case)
        ends = [await self._attempt(case, self._settle_shard), await self._attempt(case, self._make_objects)]
        refused = next((end.refused for end in ends if end.refused), None)
        waits_for = next((end.waits_for for end in ends if end.waits_for), None)
        retry = next((end.retry for end in ends if end.retry), None)
        await self._report(case, self._look(case), End(waits_for=waits_for, refused=refused, retry=retry))
        if retry is not None:
            raise retry
        # What is missing is watched; an object of others that has a name of ours is in no cache.
        held = [RECHECK_S] if case.conflicts or case.refused or refused else []
        waits = [*held, *(end.look_after_s for end in ends if end.look_after_s is not None)]
        return Result(wake_at=asyncio.get_running_loop().time() + min(waits)) if waits else DONE

    async def _attempt(self, case: Case, part: Callable[[Case], Awaitable[End]]) -> End:
        """Do one part as far as it goes: neither a bad spec nor a silent server keeps the other from being done."""
        try:
            return await part(case)
        except (InvalidError, ForbiddenError) as problem:
            return End(refused=str(problem))
        except TransientError as problem:
            return End(retry=problem)

    async def _unbind(self, valkey: ValkeyObject) -> Result:
        """Let go of everything; the pods run on, and nobody watches them."""
        await self._objects.bindings.release(valkey.key)
        await self._tell_status(valkey, ValkeyStatus(state="Unbound"))
        return DONE

    async def _open(self, valkey: ValkeyObject) -> Case:
        spec = self._facts.effective(valkey)
        maps, missing = await self._references.read(valkey.key, spec)
        existing = [node.spec for node in self._facts.nodes(valkey).values()]
        problems = [
            *missing,
            *check_supported(spec),
            *check_valkey(valkey.key.name, spec, maps=maps),
            *check_change(existing, spec),
        ]
        directives = directives_for(spec, maps)
        source = NodeSource(
            owner=owner_of(valkey),
            labels=shard_labels("Valkey", valkey.key.name),
            spec=spec,
            zones=spec.az_distribution,
            directives=directives,
            roll_hash=roll_hash(spec, spec.az_distribution, directives),
            site=self._site,
        )
        return Case(valkey=valkey, spec=spec, source=source, maps=maps, wrong=problems)

    async def _settle_shard(self, case: Case) -> End:
        """Servers first: who is primary, who follows, and the labels by which clients find them."""
        if self._record(case) is None:
            return End()
        view, plan = await self._settle(case)
        # Only now all servers were asked which version they are.
        case.wrong.extend(check_image(case.spec.image, versions_of(view.facts, case.valkey.status)))
        await self._steps.label_pods(view)
        if not case.problems:
            await self._bring_settings(case, view)
        if not case.problems:
            await self._change_nodes(case, view)
        return End(waits_for=plan.waits_for, look_after_s=self._steps.look_again_after_s(view, plan))

    async def _bring_settings(self, case: Case, view: ShardView) -> None:
        """What running servers take, before it is written down: no pod is to be started with what one refuses."""
        nodes = self._facts.nodes(case.valkey)
        wanted = WantedSettings(
            settings=live_settings(case.source.directives),
            written=live_settings(directives_of(nodes[min(nodes)])) if nodes else {},
            origin_of=lambda name: origin_of(name, case.spec, case.maps),
        )
        case.refused.extend(
            await self._steps.settings.bring(
                wanted, view, lambda *words: self._events.record(Event(_about(case.valkey), *words))
            )
        )

    async def _make_objects(self, case: Case) -> End:
        """Everything that shall exist; a spec that cannot be carried out leaves all as it is."""
        if case.problems:
            return End()
        source, volumes = case.source, self._facts.volumes(case.valkey)
        existing = self._facts.nodes(case.valkey)
        alone = case.spec.replicas == 1 and len(existing) <= 1
        record, conflicts = await asyncio.gather(
            self._ensure_record(case, volumes if case.spec.persistence.enabled else (), existing),
            self._objects.ensure(source.owner, source.labels, case.spec, alone=alone),
        )
        case.conflicts.extend(str(conflict) for conflict in conflicts)
        # A pod would run under an account, or with a password, that is somebody else's.
        if record is None or {conflict.kind for conflict in conflicts} & _NEEDED_BY_PODS:
            return End()
        needed = needed_indices(
            case.key.name, record.spec, replicas=case.spec.replicas, existing=existing, volumes=volumes
        )
        shard = self._view(case, record).facts
        turn, proven, eviction = self._turn(case, shard), is_proven(shard), next_eviction(shard)
        taken = await all_done(
            *(self._ensure_node(case, index, turn, is_proven=proven) for index in sorted(needed)),
            self._objects.ensure_budget(source.owner, source.labels, case.spec, next_eviction=eviction),
        )
        case.conflicts.extend(str(conflict) for conflict in taken)
        return End()

    def _turn(self, case: Case, shard: ShardFacts) -> str | None:
        """Whose pod is replaced next; if writes stop by that, not before it was said."""
        turn, status = next_turn(shard), case.valkey.status
        must_be_said = turn is not None and turn == last_copy(shard)
        was_said = status is not None and is_said(status.conditions, ConditionType.WRITES_STOP)
        return turn if was_said or not must_be_said else None

    async def _ensure_record(self, case: Case, volumes: Collection[int], nodes: Collection[int]) -> ShardObject | None:
        """The record; None where one of that name is not ours."""
        try:
            return await self._objects.ensure_record(
                case.source.owner, case.source.labels, volumes=volumes, nodes=nodes
            )
        except NameConflictError as conflict:
            case.conflicts.append(str(conflict))
            return None

    async def _ensure_node(self, case: Case, index: int, turn: str | None, *, is_proven: bool) -> None:
        is_its_turn = turn is not None and node_index(case.key.name, turn) == index
        before = self._facts.made_before(case.valkey, index)
        node = valkey_node(case.source, index, is_its_turn=is_its_turn, before=before, is_proven=is_proven)
        await self._objects.nodes.ensure(node)

    async def _settle(self, case: Case) -> tuple[ShardView, ShardPlan]:
        """Plan and act until there is nothing left to do at this moment."""
        if before := self._look(case):
            await self._steps.look_after(before)
        for _ in range(MOST_ROUNDS):
            # The plan must not take a node that was just made for one that does not exist.
            await self._objects.nodes.store.wait_current(self._node_keys(case))
            await self._objects.shards.store.wait_current([case.key])
            record = self._record(case)
            if record is None:
                raise TransientError(f"the record of {case.key} is gone")
            view = self._view(case, record)
            if await self._steps.ask(view):
                view = self._view(case, record)
            plan = plan_shard(view.facts)
            if not plan.steps:
                return view, plan
            await self._steps.carry_out(plan, record, view, lambda why, what: self._tell(case.valkey, why, what))
        raise TransientError(f"the shard of {case.key} does not come to rest")

    def _node_keys(self, case: Case) -> list[Key]:
        asked = range(case.spec.replicas)
        return [Key(case.key.namespace, node_name(case.key.name, index)) for index in asked]

    async def _change_nodes(self, case: Case, view: ShardView) -> None:
        for name in removable(view.facts):
            await self._objects.nodes.remove(Key(case.key.namespace, name))
        if case.spec.persistence.retention != "Delete" or case.spec.replicas == 0:
            return
        existing = self._facts.nodes(case.valkey)
        for index, claim in self._facts.volumes(case.valkey).items():
            if index >= case.spec.replicas and index not in existing:
                await self._objects.claims.remove(claim)

    def _look(self, case: Case) -> ShardView | None:
        record = self._record(case)
        return None if record is None else self._view(case, record)

    def _record(self, case: Case) -> ShardObject | None:
        """The record, if it is this Valkey's."""
        record = self._objects.shards.store.get(case.key)
        return record if record is not None and self._objects.is_record_of(record, case.source.owner) else None

    def _view(self, case: Case, record: ShardObject) -> ShardView:
        existing = self._facts.nodes(case.valkey)
        # A spec that cannot be carried out leaves everything as it is.
        replicas = max(existing, default=-1) + 1 if case.problems else case.spec.replicas
        writing = writing_rules(case.spec)
        return self._facts.shard(case.valkey, case.source, record.spec, writing=writing, replicas=replicas)

    async def _report(self, case: Case, view: ShardView | None, end: End) -> None:
        before = case.valkey.status
        pods, nodes = view.pods if view else {}, self._facts.nodes(case.valkey).values()
        found = Findings(
            owner=case.source.owner,
            generation=case.valkey.metadata.generation,
            spec=case.spec,
            shard=view.facts if view else None,
            waits_for=end.waits_for,
            hindrance=str(end.retry) if end.retry else None,
            problems=case.problems,
            conflicts=[*case.conflicts, *told_by(nodes, ConditionType.NAME_CONFLICT)],
            refused=end.refused or " ".join(told_by(nodes, ConditionType.REFUSED)) or None,
            refused_volumes=told_by(nodes, ConditionType.VOLUME_REFUSED),
            pod_problems={name: pod.problem for name, pod in pods.items() if pod.problem and not pod.ready},
            pods=self._facts.pods(case.valkey),
            zones={name: pod.zone for name, pod in pods.items() if pod.zone},
            now=utc_now(),
        )
        status = valkey_status(found, before)
        if before is None or (before.state, before.reason) != (status.state, status.reason):
            unwell = status.state in ("Degraded", "Failed") or bool(found.pod_problems)
            words = (status.reason or "", status.message or "")
            self._events.record(Event(_about(case.valkey), "Warning" if unwell else "Normal", *words))
        for each in news(before.conditions if before else None, status.conditions, *_TOLD_CONDITIONS):
            self._events.record(Event(_about(case.valkey), "Warning", each.reason, each.message))
        await self._tell_status(case.valkey, status)

    async def _tell_status(self, valkey: ValkeyObject, status: ValkeyStatus) -> None:
        before = msgspec.to_builtins(valkey.status) if valkey.status else None
        manifest = {
            "metadata": {"namespace": valkey.key.namespace, "name": valkey.key.name},
            "status": msgspec.to_builtins(status),
        }
        await self._objects.valkeys.writer.apply_status(manifest, ValkeyObject, live_status=before)

    def _warn(self, case: Case) -> None:
        """Once for each change of the spec."""
        status = case.valkey.status
        if status is None or status.observed_generation != case.valkey.metadata.generation:
            known = [status.version] if status else []
            doubts = image_warnings(case.spec.image, self._facts.images(case.valkey), known)
            for problem in [*warnings_of(case.spec), *doubts]:
                self._events.record(Event(_about(case.valkey), "Warning", "SeldomMeant", f"{problem.sentence()}."))

    def _tell(self, valkey: ValkeyObject, reason: Reason, message: str) -> None:
        if reason not in _NOT_TOLD:
            self._events.record(Event(_about(valkey), "Normal", reason, message))


def told_by(nodes: Iterable[NodeObject], type_: ConditionType) -> list[str]:
    """What holds a node up, as its own status has it."""
    conditions = [each for node in nodes for each in (node.status.conditions if node.status else None) or ()]
    return [each.message for each in conditions if each.type == type_ and each.status == "True"]


def versions_of(shard: ShardFacts, status: ValkeyStatus | None) -> list[str | None]:
    """The versions of the servers that run, and of those that ran last."""
    running = [member.view.version for member in shard.members if member.view is not None]
    return [*running, status.version if status else None]


def _about(valkey: ValkeyObject) -> About:
    meta = valkey.metadata
    return About("valkey.io/v1alpha1", "Valkey", meta.namespace, meta.name, meta.uid)
