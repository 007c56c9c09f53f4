"""The controller of Valkeys: observe, plan, act, report.

Owns: the order of these for one Valkey, and when it is looked at again. Refuses to know: what is decided (core), how it
is observed (valkey_case.py), carried out (valkey_shard.py, valkey_making.py) and told (valkey_report.py), and how a pod
comes to be (node.py).
"""

from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.controllers.kinds import ValkeyObject
from valkey_operator.controllers.parts import attempt, result, together
from valkey_operator.controllers.references import References
from valkey_operator.controllers.shard_steps import ShardSteps
from valkey_operator.controllers.valkey_case import Cases
from valkey_operator.controllers.valkey_facts import ValkeyGround
from valkey_operator.controllers.valkey_making import ObjectMaker
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.controllers.valkey_report import Reporter
from valkey_operator.controllers.valkey_shard import ShardSettler
from valkey_operator.core.names import UNBIND_ANNOTATION
from valkey_operator.core.render.pod import Site
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import DONE, Result


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
        ends = [await attempt(case, self._settler.settle), await attempt(case, self._maker.make)]
        end = together(ends)
        await self._reporter.report(case, self._cases.look(case), end)
        return result(case, end)

    async def _unbind(self, valkey: ValkeyObject) -> Result:
        """Let go of everything; the pods run on, and nobody watches them."""
        await self._objects.bindings.release(valkey.key)
        await self._reporter.tell_status(valkey, ValkeyStatus(state="Unbound"))
        return DONE
