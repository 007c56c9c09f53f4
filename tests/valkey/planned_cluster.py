"""The real planner on real servers: facts are read from them, and its steps are the commands that their docstrings say.

Owns: an operator of the simplest sort, without Kubernetes and agents: a server whose process has ended is known to be
dead, and nothing waits at a gate. Refuses to know: what is to be done.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import valkey

from tests.valkey.clusters import command, migrations_of, nodes_of, plain_client, serves
from tests.valkey.servers import Server
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, FailoverKind, Member
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.steps import ClusterPlan, Forget, Meet, Migrate, MigrationKind, Remember, Step
from valkey_operator.core.node_view import LinkView, NodeView
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.info import LinkStatus, Role, parse_replication, parse_sections
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.states import Health, ProcessState

# Slots that move key by key take a quarter of a minute where nothing else runs.
WITHIN_S = 240
KEYS_AT_ONCE = 100
_FAILOVER_WORDS: dict[FailoverKind, tuple[str, ...]] = {
    FailoverKind.PLANNED: (),
    FailoverKind.FORCE: ("FORCE",),
    FailoverKind.TAKEOVER: ("TAKEOVER",),
}


_WORDS_ALONE = {"CancelMigrations": "CANCELSLOTMIGRATIONS", "BumpEpoch": "BUMPEPOCH"}


class PlannedCluster:
    """Servers by the names of their nodes, and what is remembered of them."""

    def __init__(self, servers: dict[str, Server], *, shards: int = 3, replicas: int = 2) -> None:
        self.servers = servers
        self.shards, self.replicas = shards, replicas
        self.record = ClusterRecord()
        self.refusals: list[str] = []
        self.leaving: set[str] = set()
        """Nodes whose pods are being stopped."""

    def facts(self) -> ClusterFacts:
        names = sorted(self.servers, key=lambda name: tuple(map(int, name.split("-")[1:])))
        return ClusterFacts(
            name="c",
            record=self.record,
            members=tuple(self._member(name) for name in names),
            shards=self.shards,
            replicas=self.replicas,
            node_timeout_s=2.0,
            now=datetime.now(UTC),
        )

    def _member(self, name: str) -> Member:
        server = self.servers[name]
        shard, index = map(int, name.split("-")[1:])
        member = Member(
            name=name,
            shard=shard,
            index=index,
            wanted=shard < self.shards and index < self.replicas,
            hostname=name,
            address=Address("127.0.0.1", server.port),
            pod_leaving=name in self.leaving,
            view=NodeView(pod_uid="", boot_id="", seq=0, process=ProcessState.GONE),
        )
        if server.process.poll() is not None:
            return member
        seen = nodes_of(server)
        opened = [each.slot for each in seen.myself.open_slots]
        return msgspec.structs.replace(
            member,
            view=_report(server),
            seen=seen,
            migrations=migrations_of(server) if server.version.startswith("9") else (),
            serves=serves(server),
            keys=_key_count(server),
            keys_in_slots={slot: command(server, "COUNTKEYSINSLOT", slot) for slot in opened},
        )

    def slots_of(self, name: str) -> Slots:
        """What a node says that it owns."""
        return nodes_of(self.servers[name]).myself.slots

    def look(self) -> ClusterPlan:
        plan = plan_cluster(self.facts())
        for step in plan.steps:
            try:
                self._do(step)
            except valkey.ResponseError as refusal:
                self.refusals.append(f"{type(step).__name__}: {refusal}")
        return plan

    def work_until(self, what: str, holds: Callable[[], bool]) -> float:
        """Look again and again; how long it took."""
        begun = time.monotonic()
        while True:
            plan = self.look()
            if not plan.steps and holds():
                return time.monotonic() - begun
            late = time.monotonic() - begun > WITHIN_S
            assert not late, f"not within {WITHIN_S} s: {what}; it waits for {plan.waits_for}, refused: {self.refusals}"
            time.sleep(0.01)

    def _do(self, step: Step) -> None:
        if isinstance(step, Remember):
            self.record = step.record
        elif isinstance(step, Forget):
            for name in step.nodes:
                command(self.servers[name], "FORGET", step.id)
        elif isinstance(step, Meet):
            for peer in step.peers:
                command(self.servers[step.node], "MEET", peer.host, peer.port, self._bus_port(peer.port))
        elif isinstance(step, Migrate):
            self._migrate(step)
        else:
            server = self.servers[step.node]
            for words in _words(step):
                command(server, *words)

    def _bus_port(self, port: int) -> int:
        server = next(each for each in self.servers.values() if each.port == port)
        with server.client() as client:
            return int(client.config_get("cluster-port")["cluster-port"])

    def _migrate(self, step: Migrate) -> None:
        source, target = self.servers[step.source], self.servers[step.target]
        if step.kind is MigrationKind.ATOMIC:
            command(source, "MIGRATESLOTS", "SLOTSRANGE", *_bounds(step.slots), "NODE", step.target_id)
            return
        for slot in step.slots:
            command(target, "SETSLOT", slot, "IMPORTING", step.source_id)
            command(source, "SETSLOT", slot, "MIGRATING", step.target_id)
            while keys := command(source, "GETKEYSINSLOT", slot, KEYS_AT_ONCE):
                words = ("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
                plain_client(source).execute_command(*words)  # type: ignore[no-untyped-call]


def _words(step: Any) -> list[tuple[str | int, ...]]:
    """The commands of a step, after CLUSTER."""
    match type(step).__name__:
        case "SetConfigEpoch":
            return [("SET-CONFIG-EPOCH", step.epoch)]
        case "AddSlots":
            return [("ADDSLOTSRANGE", *_bounds(step.slots))]
        case "Replicate":
            return [("REPLICATE", step.primary)]
        case "Failover":
            return [("FAILOVER", *_FAILOVER_WORDS[step.kind])]
        case "CancelMigrations" | "BumpEpoch" as name:
            return [(_WORDS_ALONE[name],)]
        case "SettleSlots":
            end = ("NODE", step.owner) if step.owner else ("STABLE",)
            return [("SETSLOT", slot, *end) for slot in step.slots]
    raise AssertionError(f"no command for {step}")


def _bounds(slots: Slots) -> list[int]:
    return [bound for pair in slots.ranges() for bound in pair]


def _key_count(server: Server) -> int:
    found: Any = plain_client(server).dbsize()
    return int(found)


def _report(server: Server) -> NodeView:
    info = parse_replication(parse_sections(server.info()))
    link = info.primary_link
    up = link is not None and link.status is LinkStatus.UP
    return NodeView(
        pod_uid="",
        boot_id="",
        seq=0,
        process=ProcessState.RUNNING,
        health=Health.ANSWERS,
        version=server.version,
        role=info.role,
        offset=link.applied_offset if link else info.offset,
        link=LinkView(primary=Address(link.host, link.port), up=up, syncing=link.sync_in_progress) if link else None,
        # A link that was up once leaves a time since when it is down.
        whole=info.role is Role.PRIMARY or up or (link is not None and link.down_for_s is not None),
    )
