"""The controller of Valkeys: observe, plan, act, report.

Owns: the order of these for one Valkey, and when it is looked at again. Refuses to know: what is decided (core), how it
is observed (valkey_case.py), carried out (valkey_shard.py, valkey_making.py) and told (valkey_report.py), and how a pod
comes to be (node.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.controllers.kinds import ValkeyObject
from valkey_operator.controllers.references import References
from valkey_operator.controllers.shard_steps import ShardSteps
from valkey_operator.controllers.valkey_case import Case, Cases, End
from valkey_operator.controllers.valkey_facts import ValkeyGround
from valkey_operator.controllers.valkey_making import ObjectMaker
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.controllers.valkey_report import Reporter
from valkey_operator.controllers.valkey_shard import ShardSettler
from valkey_operator.core.names import UNBIND_ANNOTATION
from valkey_operator.core.render.pod import Site
from valkey_operator.kube.errors import ForbiddenError, InvalidError
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import DONE, Result, TransientError

RECHECK_S = 5.0


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
        self._objects = objects
        self._cases = Cases(facts, objects, references, site)
        self._reporter = Reporter(facts, objects.valkeys.writer, events)
        self._settler = ShardSettler(facts, self._cases, objects, steps=steps, reporter=self._reporter)
        self._maker = ObjectMaker(facts, self._cases, objects)

    async def reconcile(self, key: Key) -> Result:
        """Bring one Valkey closer to its spec, and say how it is."""
        valkey = self._objects.valkeys.store.get(key)
        if valkey is None or valkey.metadata.deletion_timestamp:
            self._cases.forget(key)
            return DONE
        if valkey.metadata.annotations.get(UNBIND_ANNOTATION) == "true":
            return await self._unbind(valkey)
        if self._objects.bindings.are_free(key) if valkey.status is None else valkey.status.state == "Unbound":
            await self._objects.bindings.take_up(key)
        case = await self._cases.open(valkey)
        self._reporter.warn(case)
        # Servers first: whether objects can be made does not concern them.
        ends = [await _attempt(case, self._settler.settle), await _attempt(case, self._maker.make)]
        end = _together(ends)
        await self._reporter.report(case, self._cases.look(case), end)
        return _result(case, end)

    async def _unbind(self, valkey: ValkeyObject) -> Result:
        """Let go of everything; the pods run on, and nobody watches them."""
        await self._objects.bindings.release(valkey.key)
        await self._reporter.tell_status(valkey, ValkeyStatus(state="Unbound"))
        return DONE


async def _attempt(case: Case, part: Callable[[Case], Awaitable[End]]) -> End:
    """Do one part as far as it goes: neither a bad spec nor a silent server keeps the other from being done."""
    try:
        return await part(case)
    except (InvalidError, ForbiddenError) as problem:
        return End(refused=str(problem))
    except TransientError as problem:
        return End(retry=problem)


def _together(ends: Sequence[End]) -> End:
    """Of each word the first, and the earliest look."""
    return End(
        waits_for=next((end.waits_for for end in ends if end.waits_for), None),
        look_after_s=min((end.look_after_s for end in ends if end.look_after_s is not None), default=None),
        refused=next((end.refused for end in ends if end.refused), None),
        retry=next((end.retry for end in ends if end.retry), None),
    )


def _result(case: Case, end: End) -> Result:
    """When to look again, though nothing changes; raises what is to be tried again."""
    if end.retry is not None:
        raise end.retry
    # What is missing is watched; an object of others that has a name of ours is in no cache.
    held = [RECHECK_S] if case.conflicts or case.refused or end.refused else []
    waits = [*held, *([] if end.look_after_s is None else [end.look_after_s])]
    return Result(wake_at=asyncio.get_running_loop().time() + min(waits)) if waits else DONE
