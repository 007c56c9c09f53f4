"""What a user is told of a ValkeyCluster: its status, and events.

Owns: which findings go into a status, and what is worth an event. Refuses to know: the words of a status (core/status).
"""

from valkey_operator.api.cluster import ValkeyClusterStatus
from valkey_operator.api.status import ConditionType
from valkey_operator.controllers.clock import utc_now
from valkey_operator.controllers.cluster_case import ClusterCase
from valkey_operator.controllers.cluster_facts import ClusterGround, ClusterSight
from valkey_operator.controllers.kinds import CLUSTERS, ClusterObject
from valkey_operator.controllers.live_settings import Tell
from valkey_operator.controllers.telling import Teller
from valkey_operator.controllers.valkey_case import End
from valkey_operator.controllers.valkey_report import told_by
from valkey_operator.core.cluster.steps import Reason
from valkey_operator.core.cluster_validation import cluster_warnings
from valkey_operator.core.status.cluster import ClusterFindings, cluster_status
from valkey_operator.core.version_change import image_warnings
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.writer import Writer

_TOLD_CONDITIONS = (ConditionType.VIEWS_DIFFER, ConditionType.WRITES_STOP)


class ClusterReporter:
    """For one term."""

    def __init__(self, facts: ClusterGround, clusters: Writer[ClusterObject], events: EventRecorder) -> None:
        self._facts = facts
        self._teller = Teller(CLUSTERS, clusters, events)

    def about(self, cluster: ClusterObject) -> Tell:
        """Tells events about one ValkeyCluster."""
        return self._teller.about(cluster)

    def tell_change(self, cluster: ClusterObject, reason: Reason, message: str) -> None:
        """Of the record."""
        self.about(cluster)("Normal", reason, message)

    def warn(self, case: ClusterCase) -> None:
        """Once for each change of the spec."""
        status = case.cluster.status
        if status is None or status.observed_generation != case.cluster.metadata.generation:
            known = [status.version] if status else []
            doubts = image_warnings(case.spec.image, self._facts.images(case.cluster), known)
            for problem in [*cluster_warnings(case.spec), *doubts]:
                self.about(case.cluster)("Warning", "SeldomMeant", f"{problem.sentence()}.")

    async def report(self, case: ClusterCase, sight: ClusterSight | None, end: End) -> None:
        """How it is, and what of that is new."""
        before, found = case.cluster.status, self._findings(case, sight, end)
        status, unwell = cluster_status(found, before), bool(found.pod_problems)
        self._teller.tell_news(case.cluster, before, status, *_TOLD_CONDITIONS, unwell=unwell)
        await self.tell_status(case.cluster, status)

    async def tell_status(self, cluster: ClusterObject, status: ValkeyClusterStatus) -> None:
        """Write it, unless it is there already."""
        await self._teller.tell_status(cluster, cluster.status, status)

    def _findings(self, case: ClusterCase, sight: ClusterSight | None, end: End) -> ClusterFindings:
        pods, nodes = sight.pods if sight else {}, self._facts.nodes(case.cluster).values()
        return ClusterFindings(
            owner=case.owner,
            generation=case.cluster.metadata.generation,
            spec=case.spec,
            cluster=sight.cluster if sight else None,
            plan=case.plan,
            hindrance=str(end.retry) if end.retry else case.hindrance,
            problems=case.problems,
            conflicts=[*case.conflicts, *told_by(nodes, ConditionType.NAME_CONFLICT)],
            refused=end.refused or " ".join(told_by(nodes, ConditionType.REFUSED)) or None,
            refused_volumes=told_by(nodes, ConditionType.VOLUME_REFUSED),
            pod_problems={name: pod.problem for name, pod in pods.items() if pod.problem and not pod.ready},
            pods=self._facts.pods(case.cluster),
            now=utc_now(),
        )
