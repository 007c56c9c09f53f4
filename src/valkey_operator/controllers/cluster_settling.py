"""The servers of a ValkeyCluster: planned for and acted on until they are at rest, then labels, settings, who may go.

Owns: the order of these, and which failures are tried again. Refuses to know: what is decided (core/cluster), how a
step is carried out (cluster_steps.py), and which objects are made (cluster_making.py).
"""

import asyncio

import msgspec
import structlog

from valkey_operator.controllers.cluster_case import ClusterCase, ClusterCases
from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight
from valkey_operator.controllers.cluster_leaving import NodeRemover
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.cluster_report import ClusterReporter
from valkey_operator.controllers.cluster_settings import ClusterSettings
from valkey_operator.controllers.cluster_steps import ClusterSteps, Failed
from valkey_operator.controllers.cluster_under_way import Ended, StepsUnderWay, failures_in, moves_in
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.controllers.patience import Patience
from valkey_operator.controllers.role_labels import label_pod
from valkey_operator.controllers.valkey_case import End
from valkey_operator.core.cluster.moving import begins_move
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.pods import role_labels
from valkey_operator.core.cluster.record import memory_of
from valkey_operator.core.cluster.retries import with_outcomes
from valkey_operator.core.cluster.scale import removable
from valkey_operator.core.cluster.steps import Migrate, Remember, Step
from valkey_operator.core.version_change import check_image
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError

log = structlog.get_logger(__name__)

# Slots move for minutes; what came of it so far is told in between, and other changes are seen.
MOST_S = 2.0
LOOK_AT_SILENT_S = 1.0
LOOK_AT_SLOW_S = 0.1


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended: the last look, what was begun and what failed since the first, and whether there is more to do."""

    sight: ClusterSight
    done: list[Step]
    failed: list[Failed]
    is_over: bool


class ClusterSettler:
    """For one term."""

    def __init__(
        self,
        facts: ClusterGround,
        cases: ClusterCases,
        objects: ClusterObjects,
        *,
        steps: ClusterSteps,
        settings: ClusterSettings,
        reporter: ClusterReporter,
    ) -> None:
        self._facts = facts
        self._cases = cases
        self._objects = objects
        self._steps = steps
        self._settings = settings
        self._reporter = reporter
        self._remover = NodeRemover(facts, objects)
        self._patience = Patience()
        self._under_way = StepsUnderWay(steps)

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._patience.forget(key)
        self._under_way.forget(key)

    async def settle(self, case: ClusterCase) -> End:
        """Everybody knows everybody, follows whom it shall, and owns the slots that it shall, as far as that goes."""
        # Nothing is suspended by a spec that cannot be carried out.
        if self._cases.record(case) is None or (case.problems and not self._facts.nodes(case.cluster)):
            return End()
        rest = await self._bring_to_rest(case)
        # Only now all servers were asked which version they are.
        case.wrong.extend(check_image(case.spec.image, versions_of(rest.sight, case)))
        await self._label(case, rest.sight)
        if not case.problems:
            case.refused.extend(await self._settings.bring(case, rest.sight, self._reporter.about(case.cluster)))
        if not case.problems:
            await self._remove_nodes(case)
        return self._end(case, rest)

    async def _bring_to_rest(self, case: ClusterCase) -> Rest:
        """Plan and act until nothing is left to begin at this moment, or it is time to tell of it.

        What takes longer goes on meanwhile, so that whatever happens elsewhere is acted upon at once.
        """
        ended = self._under_way.ended(case.key)
        if before := self._cases.look(case):
            # While an order is under way it is looked at often, and only its end is news.
            at_all = self._patience.is_waiting(case.key) and self._under_way.is_idle(case.key)
            await self._steps.look(before, at_all=at_all)
        deadline = asyncio.get_running_loop().time() + MOST_S
        done: list[Step] = []
        failed = failures_in(ended)
        await self._remember_moves(case, ended)
        while True:
            record, sight = await self._look(case)
            case.plan = plan_cluster(sight.facts)
            # None twice: what others have not told of yet would be ordered again and again.
            tried = [*done, *(each.step for each in failed)]
            steps = [each for each in case.plan.steps if each not in tried and self._may_go(case, sight, each)]
            if not steps or asyncio.get_running_loop().time() > deadline:
                # Of what failed counts only what is still wished for.
                left = [each for each in failed if each.step in case.plan.steps]
                return Rest(sight=sight, done=done, failed=left, is_over=not steps)
            ended = await self._carry_out(case, steps, sight, record)
            failed += failures_in(ended)
            done += [step for step in steps if not any(each.failed and each.step is step for each in ended)]

    async def _look(self, case: ClusterCase) -> tuple[ShardObject, ClusterSight]:
        """The record and the servers as they are now: nothing that we wrote is missing in it."""
        await self._objects.nodes.store.wait_current(self._cases.node_keys(case))
        record, sight = await self._known(case)
        if await self._steps.ask(sight):
            sight = self._cases.sight(case, memory_of(record.spec))
        return record, sight

    async def _known(self, case: ClusterCase) -> tuple[ShardObject, ClusterSight]:
        """The record as it is now, and the servers as they were told of last."""
        await self._objects.shards.store.wait_current([case.key])
        record = self._cases.record(case)
        if record is None:
            raise TransientError(f"the record of {case.key} is gone")
        return record, self._cases.sight(case, memory_of(record.spec))

    async def _carry_out(
        self, case: ClusterCase, steps: list[Step], sight: ClusterSight, record: ShardObject
    ) -> list[Ended]:
        """First what must be remembered, then the rest; moves that were refused are remembered too."""
        memory = sight.facts.record
        for step in steps:
            if isinstance(step, Remember):
                record, memory = await self._steps.swap(record, step.record), step.record
                log.info("record", cluster=str(record.key), reason=step.reason, message=step.message)
                self._reporter.tell_change(case.cluster, step.reason, step.message)
        orders = [step for step in steps if not isinstance(step, Remember)]
        ended = await self._under_way.begin(case.key, orders, sight, memory) if orders else []
        await self._remember_moves(case, ended)
        return ended

    async def _remember_moves(self, case: ClusterCase, ended: list[Ended]) -> None:
        if not any(isinstance(each.step, Migrate) for each in ended):
            return
        record, sight = await self._known(case)
        after = with_outcomes(sight.cluster, moves_in(ended))
        if after != sight.facts.record:
            await self._steps.swap(record, after)

    def _may_go(self, case: ClusterCase, sight: ClusterSight, step: Step) -> bool:
        """A spec that cannot be carried out sets no slots in motion."""
        return self._under_way.is_free(case.key, step) and not (case.problems and begins_move(sight.cluster, step))

    async def _label(self, case: ClusterCase, sight: ClusterSight) -> None:
        roles = role_labels(sight.cluster).items()
        namespace = case.key.namespace
        await asyncio.gather(
            *(label_pod(self._objects.pods, namespace, sight.pods.get(node), role) for node, role in roles)
        )

    async def _remove_nodes(self, case: ClusterCase) -> None:
        """By what agents say when they are asked: a primary may have died since, and who goes have the only copy."""
        _, sight = await self._look(case)
        if case.spec.replicas and removable(sight.cluster):
            await self._steps.look(sight, at_all=True)
            _, sight = await self._look(case)
        await self._remover.remove(case, sight)

    def _end(self, case: ClusterCase, rest: Rest) -> End:
        plan, failed = case.plan, [each for each in rest.failed if not isinstance(each.step, Migrate)]
        case.hindrance = str(failed[0].problem) if failed else None
        waits = bool(plan.steps or plan.waits_for) or plan.look_after_s is not None
        pauses = [
            self._patience.next_look_s(case.key, acted=bool(rest.done), waits=waits, failed=bool(failed)),
            plan.look_after_s,
            None if rest.is_over else 0.0,
            LOOK_AT_SILENT_S if rest.sight.unheard else None,
            None if self._under_way.is_idle(case.key) else LOOK_AT_SLOW_S,
        ]
        return End(look_after_s=min((each for each in pauses if each is not None), default=None))


def versions_of(sight: ClusterSight, case: ClusterCase) -> list[str | None]:
    """The versions of the servers that run, and of those that ran last."""
    status = case.cluster.status
    running = [member.view.version for member in sight.facts.members if member.view is not None]
    return [*running, status.version if status else None]
