"""The controller of ValkeyClusters: observe, plan, act, report.

Owns: the order of these for one ValkeyCluster, and when it is looked at again. Refuses to know: what is decided (core),
how it is observed (cluster_case.py), carried out (cluster_settling.py, cluster_making.py) and told (cluster_report.py),
and how a pod comes to be (node.py).
"""

from valkey_operator.api.cluster import ValkeyClusterStatus
from valkey_operator.controllers.agents.orders import AgentsInTerm
from valkey_operator.controllers.cluster_case import ClusterCases
from valkey_operator.controllers.cluster_facts import ClusterGround
from valkey_operator.controllers.cluster_making import ClusterMaker
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.cluster_report import ClusterReporter
from valkey_operator.controllers.cluster_settings import ClusterSettings
from valkey_operator.controllers.cluster_settling import ClusterSettler
from valkey_operator.controllers.cluster_steps import ClusterSteps
from valkey_operator.controllers.kinds import ClusterObject
from valkey_operator.controllers.live_settings import LiveSettings
from valkey_operator.controllers.parts import attempt, result, together
from valkey_operator.controllers.references import References
from valkey_operator.core.names import UNBIND_ANNOTATION
from valkey_operator.core.render.pod import Site
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import DONE, Result


class ClusterController:
    """For one term."""

    def __init__(
        self,
        facts: ClusterGround,
        objects: ClusterObjects,
        references: References,
        *,
        agents: AgentsInTerm,
        events: EventRecorder,
        site: Site,
    ) -> None:
        self._objects = objects
        self._cases = ClusterCases(facts, objects, references, site)
        self._reporter = ClusterReporter(facts, objects.clusters.writer, events)
        self._settler = ClusterSettler(
            facts,
            self._cases,
            objects,
            steps=ClusterSteps(objects.shards.writer, agents),
            settings=ClusterSettings(facts, LiveSettings(agents)),
            reporter=self._reporter,
        )
        self._maker = ClusterMaker(facts, self._cases, objects)

    async def reconcile(self, key: Key) -> Result:
        """Bring one ValkeyCluster closer to its spec, and say how it is."""
        cluster = self._objects.clusters.store.get(key)
        if cluster is None or cluster.metadata.deletion_timestamp:
            self._cases.forget(key)
            self._settler.forget(key)
            return DONE
        if cluster.metadata.annotations.get(UNBIND_ANNOTATION) == "true":
            return await self._unbind(cluster)
        if self._objects.bindings.are_free(key) if cluster.status is None else cluster.status.state == "Unbound":
            await self._objects.bindings.take_up(key)
        case = await self._cases.open(cluster)
        self._reporter.warn(case)
        # Servers first: whether objects can be made does not concern them.
        ends = [await attempt(case, self._settler.settle), await attempt(case, self._maker.make)]
        end = together(ends)
        await self._reporter.report(case, self._cases.look(case), end)
        return result(case, end)

    async def _unbind(self, cluster: ClusterObject) -> Result:
        """Let go of everything; the pods run on, and nobody watches them."""
        await self._objects.bindings.release(cluster.key)
        await self._reporter.tell_status(cluster, ValkeyClusterStatus(state="Unbound"))
        return DONE
