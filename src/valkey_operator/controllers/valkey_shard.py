"""The servers of a Valkey: planned for and acted on until they are at rest, then settings, labels, who may go.

Owns: the order of these. Refuses to know: what is decided (core/shard), how a step is carried out (shard_steps.py), and
which objects are made (valkey_making.py).
"""

import msgspec

from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.controllers.keeper import NameConflictError
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.controllers.live_settings import WantedSettings
from valkey_operator.controllers.shard_steps import ShardSteps
from valkey_operator.controllers.valkey_case import Case, Cases, End
from valkey_operator.controllers.valkey_facts import ShardView, ValkeyGround, directives_of
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.controllers.valkey_report import Reporter
from valkey_operator.core.names import node_name
from valkey_operator.core.render.directives import origin_of
from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.core.shard.members import removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import ShardPlan
from valkey_operator.core.version_change import check_image
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.live import live_settings

MOST_ROUNDS = 1000


class ShardSettler:
    """For one term."""

    def __init__(
        self, facts: ValkeyGround, cases: Cases, objects: ValkeyObjects, *, steps: ShardSteps, reporter: Reporter
    ) -> None:
        self._facts = facts
        self._cases = cases
        self._objects = objects
        self._steps = steps
        self._reporter = reporter

    async def settle(self, case: Case) -> End:
        """Who is primary, who follows, and the labels by which clients find them."""
        if self._cases.record(case) is None:
            return End()
        view, plan = await self._bring_to_rest(case)
        # Only now all servers were asked which version they are.
        case.wrong.extend(check_image(case.spec.image, versions_of(view.facts, case.valkey.status)))
        await self._put_up_signposts(case, view)
        if not case.problems:
            await self._bring_settings(case, view)
        if not case.problems:
            await self._change_nodes(case, view)
        return End(waits_for=plan.waits_for, look_after_s=self._steps.look_again_after_s(view, plan))

    async def _bring_to_rest(self, case: Case) -> tuple[ShardView, ShardPlan]:
        """Plan and act until there is nothing left to do at this moment."""
        if before := self._cases.look(case):
            await self._steps.look_after(before)
        asked: frozenset[str] = frozenset()
        for _ in range(MOST_ROUNDS):
            record, view, plan = await self._next_plan(case, asked)
            asked = plan.only_asks
            if not plan.steps:
                return view, plan
            await self._steps.carry_out(
                plan, record, view, lambda why, what: self._reporter.tell_change(case.valkey, why, what)
            )
        raise TransientError(f"the shard of {case.key} does not come to rest")

    async def _next_plan(self, case: Case, asked: frozenset[str]) -> tuple[ShardObject, ShardView, ShardPlan]:
        # The plan must not take a node that was just made for one that does not exist.
        await self._objects.nodes.store.wait_current(_node_keys(case))
        await self._objects.shards.store.wait_current([case.key])
        record = self._cases.record(case)
        if record is None:
            raise TransientError(f"the record of {case.key} is gone")
        view = self._cases.view(case, record)
        if await self._steps.ask(view):
            view = self._cases.view(case, record)
        return record, view, plan_shard(msgspec.structs.replace(view.facts, just_asked=asked))

    async def _put_up_signposts(self, case: Case, view: ShardView) -> None:
        try:
            await self._steps.signposts.put_up(view)
        except NameConflictError as conflict:
            case.conflicts.append(str(conflict))

    async def _bring_settings(self, case: Case, view: ShardView) -> None:
        """What running servers take, before it is written down: no pod is to be started with what one refuses."""
        nodes = self._facts.nodes(case.valkey)
        wanted = WantedSettings(
            settings=live_settings(case.source.directives),
            written=live_settings(directives_of(nodes[min(nodes)])) if nodes else {},
            origin_of=lambda name: origin_of(name, case.spec, case.maps),
        )
        tell = self._reporter.about(case.valkey)
        case.refused.extend(await self._steps.settings.bring(wanted, view, tell))

    async def _change_nodes(self, case: Case, view: ShardView) -> None:
        for name in removable(view.facts):
            await self._objects.nodes.remove(Key(case.key.namespace, name))
        if case.spec.persistence.retention != "Delete" or case.spec.replicas == 0:
            return
        existing = self._facts.nodes(case.valkey)
        for index, claim in self._facts.volumes(case.valkey).items():
            if index >= case.spec.replicas and index not in existing:
                await self._objects.claims.remove(claim)


def _node_keys(case: Case) -> list[Key]:
    asked = range(case.spec.replicas)
    return [Key(case.key.namespace, node_name(case.key.name, index)) for index in asked]


def versions_of(shard: ShardFacts, status: ValkeyStatus | None) -> list[str | None]:
    """The versions of the servers that run, and of those that ran last."""
    running = [member.view.version for member in shard.members if member.view is not None]
    return [*running, status.version if status else None]
