"""One ValkeyCluster under the controller: what is made, what agents are told, and what a user reads.

Pods and agents are only told of here; that servers do what they are told is for tests/valkey and tests/e2e.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tests.support.clusters import Told, World, facts, formed, nodes_view
from tests.support.engine import metrics
from tests.support.memory_api import Manifest, MemoryApi
from tests.support.render import SITE
from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import OrderResult
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.cluster import ClusterController
from valkey_operator.controllers.cluster_facts import ClusterGround
from valkey_operator.controllers.cluster_objects import ClusterObjects
from valkey_operator.controllers.former_pods import FormerPods
from valkey_operator.controllers.ground import make_ground
from valkey_operator.controllers.kinds import CONFIG_MAPS, SECRETS
from valkey_operator.controllers.references import References, Referrers
from valkey_operator.core.names import NODE_LABEL, ROLL_HASH_ANNOTATION
from valkey_operator.core.node_view import ClusterNodeView, NodeView
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import Result
from valkey_operator.valkey.cluster_nodes import Failing, NodesView
from valkey_operator.valkey.states import ProcessState
from valkey_operator.valkey.terms import Terms

VALKEYS = "/apis/valkey.io/v1alpha1/namespaces/app"
CLUSTER = f"{VALKEYS}/valkeyclusters/c"
SIX = ["c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1"]


class Recorder:
    """Keeps events."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events

    def record(self, event: Any) -> None:
        self._events.append(event)


class Stage:
    """The controller, its API server, and agents that obey."""

    def __init__(self, **spec: Any) -> None:
        self.api = MemoryApi()
        caches: Any = self.api
        ground = make_ground(caches, None)
        self.reports = Reports(lambda: 0.0)
        client, figures = KubeClient(self.api), metrics()
        versions = {SECRETS.resource: ground.users_secrets, CONFIG_MAPS.resource: ground.users_config_maps}
        self.ordered: list[str] = []
        self.bound: dict[str, int] = {}
        """The epoch in which each node was told that it needs leave to write."""
        self.refused: set[str] = set()
        self.slow: dict[str, asyncio.Event] = {}
        """Orders that take until their event is set."""
        self.silent: set[str] = set()
        self.pulled: set[str] = set()
        self.events: list[Any] = []
        agents: Any = self
        recorder: Any = Recorder(self.events)
        self.controller = ClusterController(
            ClusterGround(ground, self.reports, FormerPods(ground.pods), "operators"),
            ClusterObjects(ground, client, figures),
            References(client, Referrers(), versions),
            agents=agents,
            events=recorder,
            site=SITE,
        )
        self.write(shards=3, replicas=2, **spec)

    def write(self, *, annotations: dict[str, str] | None = None, generation: int = 1, **spec: Any) -> None:
        before = self.api.objects.get(CLUSTER, {})
        meta = {"namespace": "app", "name": "c", "annotations": annotations or {}, "generation": generation}
        self.api.put(CLUSTER, {**before, "metadata": meta, "spec": {**before.get("spec", {}), **spec}})

    async def reconcile(self) -> Result:
        return await self.controller.reconcile(Key("app", "c"))

    @property
    def status(self) -> Manifest:
        found: Manifest = self.api.objects[CLUSTER]["status"]
        return found

    @property
    def record(self) -> Manifest:
        found: Manifest = self.api.get("valkeyshards", "c")["spec"]["cluster"]
        return found

    # What AgentsInTerm does.
    async def pull(self, targets: Any, **_: Any) -> dict[Any, Any]:
        for target in targets:
            self.pulled.add(target.key.name)
            if target.key.name in self.silent:
                self.drop(target)
        return {}

    def is_silent(self, target: Target) -> bool:
        return target.key.name in self.silent & self.pulled

    def drop(self, target: Target) -> None:
        self.reports.drop(target.key, target.pod_uid)

    async def report(self, target: Target, **_: Any) -> NodeView:
        received = self.reports.get(target.key)
        assert received
        return received.view

    async def order(self, target: Target, name: str, /, *, epoch: int, **fields: Any) -> OrderResult:
        if name == "Bind":
            return await self._bind(target, epoch, fields["terms"])
        word = f"{name} {target.key.name}"
        self.ordered.append(word)
        if word in self.slow:
            await self.slow[word].wait()
        outcome = Outcome.SERVER_REFUSED if word in self.refused else Outcome.OBEYED
        received = self.reports.get(target.key)
        assert received
        return OrderResult(outcome, "its words", received.view, {})

    async def _bind(self, target: Target, epoch: int, terms: Terms) -> OrderResult:
        self.bound[target.key.name] = epoch
        view = msgspec.structs.replace(await self.report(target), promised_epoch=epoch, terms=terms)
        self.reports.put(target.key, view)
        return OrderResult(Outcome.OBEYED, "", view, {})

    def add_pods(self, *names: str) -> None:
        """What the controller of nodes and Kubernetes make of a node."""
        for number, name in enumerate(names):
            labels = self.api.get("valkeynodes", name)["metadata"]["labels"]
            template = self.api.get("valkeynodes", name)["spec"]["podTemplate"]
            meta = {"namespace": "app", "labels": {**labels, NODE_LABEL: name}}
            service = {"metadata": {**meta, "name": name}, "spec": {"clusterIP": f"10.0.0.{number}"}}
            self.api.put(f"/api/v1/namespaces/app/services/{name}", service)
            mark = {ROLL_HASH_ANNOTATION: template["metadata"]["annotations"][ROLL_HASH_ANNOTATION]}
            agent = {"name": "agent", "state": {"running": {}}}
            status = {
                "podIP": f"10.1.0.{number}",
                "initContainerStatuses": [agent],
                "containerStatuses": [{"name": "valkey", "state": {"running": {}}}],
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            pod = {"metadata": {**meta, "name": f"{name}-0", "uid": name, "annotations": mark}, "status": status}
            self.api.put(f"/api/v1/namespaces/app/pods/{name}-0", {**pod, "spec": {"nodeName": "machine"}})

    def hear(self, name: str, view: NodeView) -> None:
        self.reports.put(Key("app", name), msgspec.structs.replace(view, pod_uid=name))

    def hear_all(self, world: World, **changes: Any) -> None:
        """Every server runs, and says what it has in that world."""
        for member in facts(world).members:
            view = member.view
            assert view
            cluster = ClusterNodeView(seen=announced(nodes_view(world, member.name)), serves=True)
            self.hear(member.name, msgspec.structs.replace(view, cluster=cluster, **changes))


def announced(seen: NodesView) -> NodesView:
    """With the names that nodes of the namespace announce."""
    mine, *others = (msgspec.structs.replace(line, hostname=f"{line.hostname}.app.svc") for line in seen.lines)
    return NodesView(myself=mine, others=tuple(others))


AT_GATE = NodeView(pod_uid="", boot_id="boot", seq=1, process=ProcessState.WAITING)


def play(scene: Callable[[Stage], Awaitable[None]], **spec: Any) -> None:
    async def run() -> None:
        await scene(Stage(**spec))

    asyncio.run(run())


async def running(stage: Stage, world: World | None = None) -> World:
    """Six servers that run as a whole cluster."""
    await stage.reconcile()
    stage.add_pods(*SIX)
    told = world or formed()
    stage.hear_all(told)
    await stage.reconcile()
    return told


def test_a_new_cluster_gets_its_record_services_password_rights_and_nodes() -> None:
    async def scene(stage: Stage) -> None:
        await stage.reconcile()
        assert stage.api.names("valkeynodes") == SIX
        assert stage.record.get("formed") in (None, False)
        assert stage.api.names("services") == ["c", "c-nodes"]
        assert stage.api.names("secrets") == ["c-auth"]
        assert stage.api.names("serviceaccounts") == stage.api.names("roles") == ["c-agent"]
        assert stage.api.names("poddisruptionbudgets") == ["c-0", "c-1", "c-2"]
        assert (stage.status["state"], stage.status["totalReplicas"]) == ("Initializing", 6)

    play(scene)


def test_servers_at_their_gates_are_let_in() -> None:
    async def scene(stage: Stage) -> None:
        await stage.reconcile()
        stage.add_pods(*SIX)
        for name in SIX:
            stage.hear(name, AT_GATE)
        await stage.reconcile()
        assert sorted(stage.ordered) == [f"Open {name}" for name in SIX]

    play(scene)


def test_a_cluster_that_has_its_slots_is_remembered_as_formed_and_ready() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        assert stage.record["formed"] is True
        assert (stage.status["state"], stage.status["slotsAssigned"]) == ("Ready", 16384)
        assert [each["primary"] for each in stage.status["shards"]] == ["c-0-0", "c-1-0", "c-2-0"]
        assert "ClusterFormed" in {event.reason for event in stage.events}
        roles = {name: stage.api.get("pods", f"{name}-0")["metadata"]["labels"]["valkey.io/role"] for name in SIX}
        assert set(roles.values()) == {"primary", "replica"}

    play(scene)


def test_all_nodes_are_told_that_they_need_leave_and_that_is_remembered() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        epoch = stage.api.get("valkeyshards", "c")["spec"]["epoch"]
        assert stage.bound == dict.fromkeys(SIX, epoch)
        assert (stage.record["leave"]["witnesses"], stage.record["leave"]["kept"]) == (SIX, True)

    play(scene)


def test_once_all_is_well_nothing_is_written_any_more() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        await stage.reconcile()
        stage.api.writes.clear()
        stage.ordered.clear()
        await stage.reconcile()
        assert (stage.api.writes, stage.ordered) == ([], [])

    play(scene)


def test_a_primary_that_died_is_replaced_and_that_is_remembered_before_it_is_ordered() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.hear("c-1-0", msgspec.structs.replace(AT_GATE, process=ProcessState.GONE, seq=9))
        await stage.reconcile()
        assert stage.ordered == ["Failover c-1-1"]
        [attempt] = stage.record["attempts"]
        assert (attempt["shard"], attempt["kind"], attempt["target"]) == (1, "force", "c-1-1")
        assert stage.status["state"] == "Degraded"

    play(scene)


async def handing_over_slowly(stage: Stage) -> None:
    """The pod of c-0-0 is being stopped, and nothing has come yet of the order to its replica."""
    await running(stage)
    pod = stage.api.get("pods", "c-0-0-0")
    meta = {**pod["metadata"], "deletionTimestamp": "2026-11-16T12:00:00Z"}
    stage.api.put("/api/v1/namespaces/app/pods/c-0-0-0", {**pod, "metadata": meta})
    stage.slow["Failover c-0-1"] = asyncio.Event()
    result = await stage.reconcile()
    assert stage.ordered == ["Failover c-0-1"]
    assert result.wake_at is not None


def test_a_primary_that_dies_while_another_one_hands_over_slowly_is_replaced_at_once() -> None:
    async def scene(stage: Stage) -> None:
        await handing_over_slowly(stage)
        stage.hear("c-1-0", msgspec.structs.replace(AT_GATE, process=ProcessState.GONE, seq=9))
        begun = asyncio.get_running_loop().time()
        await stage.reconcile()
        assert stage.ordered == ["Failover c-0-1", "Failover c-1-1"]
        assert asyncio.get_running_loop().time() - begun < 1

    play(scene)


def test_keys_that_travel_slowly_are_sent_once_and_what_the_server_says_at_last_is_remembered() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(shards=4, generation=2)
        await stage.reconcile()
        world = {**formed(), "c-3-0": Told(name="c-3-0", epoch=9), "c-3-1": Told(name="c-3-1", primary="c-3-0")}
        stage.add_pods("c-3-0", "c-3-1")
        stage.hear_all(world, version="8.1.1")
        stage.slow["GiveSlots c-0-0"] = asyncio.Event()
        await stage.reconcile()
        stage.pulled.clear()
        result = await stage.reconcile()
        assert stage.ordered.count("TakeSlots c-3-0") == stage.ordered.count("GiveSlots c-0-0") == 1
        assert stage.pulled == set(), "it is looked at ten times a second meanwhile"
        assert result.wake_at is not None

        stage.refused = {"GiveSlots c-0-0"}
        stage.slow.pop("GiveSlots c-0-0").set()
        await asyncio.sleep(0.01)
        await stage.reconcile()
        [failure] = stage.record["failures"]
        assert (failure["source"], failure["target"], failure["count"]) == (0, 3, 1)
        assert failure["error"] == "c-0-0 did not obey GiveSlots: its words"

    play(scene)


def test_servers_are_told_in_which_zone_they_run_and_users_are_not() -> None:
    async def scene(stage: Stage) -> None:
        zone = {"topology.kubernetes.io/zone": "b"}
        stage.api.put("/api/v1/nodes/machine", {"metadata": {"name": "machine", "labels": zone}})
        await stage.reconcile()
        stage.add_pods(*SIX)
        stage.hear_all(formed(), settings_digest="of no zone")
        await stage.reconcile()
        assert {f"Configure {name}" for name in SIX} <= set(stage.ordered)
        assert "SettingsChanged" not in {event.reason for event in stage.events}

    play(scene)


def test_a_server_whose_agent_told_of_its_end_is_dead_also_once_its_pod_is_gone() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.hear("c-1-0", msgspec.structs.replace(AT_GATE, process=ProcessState.GONE, seq=9))
        stage.api.delete("/api/v1/namespaces/app/pods/c-1-0-0")
        await stage.reconcile()
        assert stage.ordered == ["Failover c-1-1"]

    play(scene)


def test_a_pod_that_was_deleted_by_force_proves_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.api.delete("/api/v1/namespaces/app/pods/c-1-0-0")
        await stage.reconcile()
        assert stage.ordered == []

    play(scene)


def test_what_a_former_pod_told_says_nothing_of_a_new_one_that_may_have_been_let_in() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.hear("c-1-0", msgspec.structs.replace(AT_GATE, process=ProcessState.GONE, seq=9))
        former = stage.api.get("pods", "c-1-0-0")
        stage.api.delete("/api/v1/namespaces/app/pods/c-1-0-0")
        new = {**former, "metadata": {**former["metadata"], "uid": "new"}}
        stage.api.put("/api/v1/namespaces/app/pods/c-1-0-0", new)
        await stage.reconcile()
        assert stage.ordered == []

    play(scene)


def test_one_whom_the_others_do_not_hear_is_asked_and_not_believed_if_it_does_not_answer() -> None:
    async def scene(stage: Stage) -> None:
        world = await running(stage)
        await stage.reconcile()
        stage.pulled.clear()
        stage.silent = {"c-1-0"}
        lost = msgspec.structs.replace(world["c-0-0"], sees={"c-1-0": {"failing": Failing.SUSPECTED}})
        told = {**world, "c-0-0": lost}
        seen = announced(nodes_view(told, "c-0-0"))
        view = facts(told).members[0].view
        assert view
        stage.hear("c-0-0", msgspec.structs.replace(view, seq=2, cluster=ClusterNodeView(seen=seen, serves=True)))
        await stage.reconcile()
        assert "c-1-0" in stage.pulled
        assert stage.ordered == []
        conditions = {each["type"]: each["status"] for each in stage.status["conditions"]}
        assert conditions["SlotsCovered"] == "Unknown"

    play(scene)


def test_an_order_that_is_refused_is_told_and_tried_again_later() -> None:
    async def scene(stage: Stage) -> None:
        await stage.reconcile()
        stage.add_pods(*SIX)
        for name in SIX:
            stage.hear(name, AT_GATE)
        stage.refused = {"Open c-0-0"}
        result = await stage.reconcile()
        assert stage.ordered.count("Open c-0-0") == 1
        assert "Open c-2-1" in stage.ordered
        assert result.wake_at is not None
        assert "c-0-0 did not obey Open: its words" in stage.status["message"]

    play(scene)


def test_more_shards_get_nodes_and_fewer_nodes_go_once_nobody_misses_them() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(shards=4, generation=2)
        await stage.reconcile()
        assert stage.api.names("valkeynodes") == [*SIX, "c-3-0", "c-3-1"]
        stage.write(shards=3, replicas=1, generation=3)
        stage.hear_all(formed())
        await stage.reconcile()
        # Those of shard 3 were never heard of, and nobody destroys anything on a partial view.
        assert "c-3-0" in stage.api.names("valkeynodes")

    play(scene)


def test_no_replica_goes_before_its_primary_was_asked_whether_it_still_runs() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        await stage.reconcile()
        stage.silent = {"c-1-0"}
        stage.pulled.clear()
        stage.write(replicas=1, generation=2)
        await stage.reconcile()
        # Those of the other primaries go: these have answered.
        assert stage.api.names("valkeynodes") == ["c-0-0", "c-1-0", "c-1-1", "c-2-0"]

    play(scene)


def test_suspended_it_remembers_how_it_was_and_lets_all_nodes_go() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(replicas=0, generation=2)
        await stage.reconcile()
        assert stage.record["asleep"] == {"shards": 3, "replicas": 2, "asked": 3}
        assert stage.api.names("valkeynodes") == []
        assert stage.api.names("poddisruptionbudgets") == []
        assert stage.status["state"] == "Reconciling"

    play(scene)


def test_asleep_it_refuses_another_number_of_shards_and_makes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(replicas=0, generation=2)
        await stage.reconcile()
        stage.write(replicas=2, shards=5, generation=3)
        await stage.reconcile()
        assert stage.status["reason"] == "InvalidSpec"
        assert stage.api.names("valkeynodes") == []
        stage.write(shards=3, generation=4)
        await stage.reconcile()
        assert stage.api.names("valkeynodes") == SIX

    play(scene)


def test_a_spec_that_cannot_be_carried_out_changes_nothing_and_its_servers_are_looked_after() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(shards=5, config={"cluster-port": 7000}, generation=2)
        stage.hear("c-1-0", msgspec.structs.replace(AT_GATE, process=ProcessState.GONE, seq=9))
        await stage.reconcile()
        assert stage.api.names("valkeynodes") == SIX
        assert stage.ordered == ["Failover c-1-1"]
        assert stage.status["reason"] == "InvalidSpec"

    play(scene)


def test_a_lost_record_is_made_anew_and_takes_the_cluster_for_one_that_was_formed() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.api.delete(f"{VALKEYS}/valkeyshards/c")
        await stage.reconcile()
        assert stage.record["formed"] is True
        assert stage.record["asleep"] == {"shards": 3, "replicas": 2, "asked": 3}
        await stage.reconcile()
        assert stage.record.get("asleep") is None
        assert stage.status["state"] == "Ready"

    play(scene)


def test_a_service_of_somebody_else_is_left_alone_and_told() -> None:
    async def scene(stage: Stage) -> None:
        theirs = {"metadata": {"namespace": "app", "name": "c"}, "spec": {"clusterIP": "10.9.9.9"}}
        stage.api.put("/api/v1/namespaces/app/services/c", theirs)
        await stage.reconcile()
        assert stage.status["reason"] == "NameConflict"
        assert stage.api.get("services", "c")["spec"] == {"clusterIP": "10.9.9.9"}

    play(scene)


def test_unbound_it_lets_go_of_everything_and_takes_it_up_again() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(annotations={"valkey.io/unbind": "true"})
        await stage.reconcile()
        assert stage.status == {"state": "Unbound"}
        node = stage.api.get("valkeynodes", "c-0-0")["metadata"]
        assert "ownerReferences" not in node
        assert "valkey.io/cr" not in node["annotations"]
        stage.write(annotations={})
        await stage.reconcile()
        assert stage.api.get("valkeynodes", "c-0-0")["metadata"]["annotations"]["valkey.io/cr"] == "c"
        assert stage.status["state"] == "Ready"

    play(scene)


def test_the_volume_of_a_shard_that_was_emptied_is_marked_and_made_anew_before_it_is_used() -> None:
    async def scene(stage: Stage) -> None:
        await running(stage)
        stage.write(shards=4, generation=2)
        await stage.reconcile()
        world = {**formed(), "c-3-0": Told(name="c-3-0", epoch=9), "c-3-1": Told(name="c-3-1", primary="c-3-0")}
        stage.add_pods("c-3-0", "c-3-1")
        labels = stage.api.get("valkeynodes", "c-3-0")["metadata"]["labels"]
        claims = "/api/v1/namespaces/app/persistentvolumeclaims"
        meta = {"namespace": "app", "name": "c-3-0-data", "labels": labels, "annotations": {"valkey.io/cr": "c"}}
        stage.api.put(f"{claims}/c-3-0-data", {"metadata": meta})
        stage.write(shards=3, generation=3)
        stage.hear_all(world)
        await stage.reconcile()
        assert stage.api.names("valkeynodes") == SIX
        claim = stage.api.get("persistentvolumeclaims", "c-3-0-data")
        assert claim["metadata"]["annotations"]["valkey.io/emptied"] == "true"

        stage.write(shards=4, generation=4)
        await stage.reconcile()
        assert stage.api.names("persistentvolumeclaims") == []
        assert "c-3-0" not in stage.api.names("valkeynodes")
        await stage.reconcile()
        assert "c-3-0" in stage.api.names("valkeynodes")

    play(scene)
