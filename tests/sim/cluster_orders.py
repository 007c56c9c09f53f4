"""What each step of a plan does to the servers of the model, as the real commands would.

Owns: the commands. A server that does not run, or is cut off, is not told anything; a command that a real one refuses
does nothing. Refuses to know: when a step is due.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.sim.cluster_bus import gossip, hand_slots, run_for_primary
from tests.sim.cluster_servers import Server
from tests.sim.cluster_world import BAN_TICKS, World, moment
from valkey_operator.controllers.cluster_orders import replaced_by
from valkey_operator.core.cluster.facts import ClusterRecord, FailoverKind
from valkey_operator.core.cluster.steps import (
    AddSlots,
    BumpEpoch,
    CancelMigrations,
    Failover,
    Forget,
    Meet,
    Migrate,
    MigrationKind,
    Open,
    Replicate,
    Reset,
    SetConfigEpoch,
    SettleSlots,
)
from valkey_operator.valkey.cluster_nodes import Failing, MigrationState, OpenSlot, SlotMigration
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import ProcessState


class Orders:
    """Carries steps out. `interrupted` says how often a step of many commands ends before its last."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.interrupted = 0.0
        self._commands: dict[type, Callable[[Server, Any], None]] = {
            SetConfigEpoch: _set_epoch,
            AddSlots: _add_slots,
            Meet: self._meet,
            Replicate: self._replicate,
            Reset: _reset,
            CancelMigrations: _cancel,
            SettleSlots: self._settle,
            Failover: self._failover,
            BumpEpoch: _bump,
        }

    def carry_out(self, step: Any, record: ClusterRecord) -> None:
        if isinstance(step, Open):
            self._open(step.node)
        elif isinstance(step, Forget):
            for name in step.nodes:
                self._forget(name, step.id)
        elif isinstance(step, Migrate):
            self._migrate(step)
        elif isinstance(step, Failover) and not self._is_meant(step, record):
            return
        elif server := self._server(step.node):
            if not isinstance(step, Meet | SettleSlots):
                self.world.tell(str(step)[:160])
            self._commands[type(step)](server, step)

    def _server(self, name: str) -> Server | None:
        node = self.world.nodes.get(name)
        return node.running if node is not None and node.side == 0 else None

    def _is_meant(self, step: Failover, record: ClusterRecord) -> bool:
        """Whoever follows another one by now does not obey."""
        server, meant = self._server(step.node), replaced_by(step.node, record, step.kind)
        return server is not None and (not meant or server.own.primary == meant)

    def _is_interrupted(self) -> bool:
        return self.world.chance.random() < self.interrupted

    def _open(self, name: str) -> None:
        node = self.world.nodes.get(name)
        if node is None or not node.at_gate or node.side != 0:
            return
        if node.kept is not None:
            node.server = node.kept.restarted(node.saved)
            # It serves nobody before it has heard of most others again.
            for entry in node.server.table.values():
                entry.heard, entry.failing = self.world.tick, Failing.SUSPECTED
            node.server.own.failing = Failing.NO
        else:
            node.server = Server(name=name, id=self.world.new_id())
        node.state = ProcessState.RUNNING
        self.world.tell(f"{name} starts")

    def _meet(self, server: Server, step: Meet) -> None:
        for peer in step.peers:
            other = self._server(peer.host.removesuffix(".svc"))
            if other is not None:
                acquaint(server, other, self.world.tick)

    def _replicate(self, server: Server, step: Replicate) -> None:
        target = self.world.by_id(step.primary)
        empty = server.own.role is Role.REPLICA or not (server.own.slots or any(server.data.values()))
        if target is not None and target.own.role is Role.PRIMARY and step.primary in server.table and empty:
            server.follow(step.primary)
            server.data, server.whole, server.opens = {}, False, {}

    def _failover(self, server: Server, step: Failover) -> None:
        if server.own.role is not Role.REPLICA:
            return
        primary = self.world.by_id(server.own.primary)
        if step.kind is FailoverKind.TAKEOVER:
            server.promote(server.current_epoch + 1)
            gossip(self.world)
        elif step.kind is FailoverKind.FORCE:
            run_for_primary(self.world, server, force=True)
        elif primary is not None and server.linked and self.world.reach(primary, server):
            server.data, server.offset = dict(primary.data), primary.offset
            run_for_primary(self.world, server, force=True)

    def _forget(self, name: str, node_id: str) -> None:
        server = self._server(name)
        if server is not None and node_id in server.table and node_id not in (server.id, server.own.primary):
            del server.table[node_id]
            server.bans[node_id] = self.world.tick + BAN_TICKS
            self.world.tell(f"{name} forgets {node_id[:6]}")

    def _settle(self, server: Server, step: SettleSlots) -> None:
        for slot in step.slots:
            opened = server.opens.pop(slot, None)
            if step.owner == server.id and opened is not None and opened.importing:
                server.outrank()
                for entry in server.table.values():
                    entry.slots &= ~(1 << slot)
                server.own.slots |= 1 << slot
                self._tell_source(server, opened.peer, slot)
        self._copy_tables(server)

    def _tell_source(self, server: Server, source_id: str, slot: int) -> None:
        source = self.world.by_id(source_id)
        if source is not None and self.world.reach(source, server) and server.id in source.table:
            hand_slots(source, server, 1 << slot)
            self._copy_tables(source)

    def _copy_tables(self, primary: Server) -> None:
        """Since 8.0 SETSLOT goes to the replicas before it is answered."""
        for replica in self.world.running():
            if replica.own.primary == primary.id and replica.linked:
                replica.opens = dict(primary.opens)
                for node_id, entry in primary.table.items():
                    if node_id in replica.table and node_id != replica.id:
                        replica.table[node_id].slots, replica.table[node_id].epoch = entry.slots, entry.epoch

    def _migrate(self, step: Migrate) -> None:
        source, target = self._server(step.source), self._server(step.target)
        if source is None or target is None or source.own.role is not Role.PRIMARY:
            return
        self.world.tell(f"{step.source} gives {len(step.slots)} slots to {step.target}, {step.kind}")
        if step.kind is MigrationKind.ATOMIC:
            source.migrations.insert(0, _begun(step, self.world.tick))
            return
        for slot in step.slots:
            if self._is_interrupted():
                return
            target.opens[slot] = OpenSlot(slot=slot, importing=True, peer=source.id)
            if self._is_interrupted():
                return
            source.opens[slot] = OpenSlot(slot=slot, importing=False, peer=target.id)
            if slot in source.data and self.world.chance.random() < 0.7:
                target.data[slot] = target.data.get(slot, 0) | source.data.pop(slot)


def acquaint(one: Server, other: Server, tick: int) -> None:
    """Both know of each other, as after a handshake."""
    for server, peer in ((one, other), (other, one)):
        if peer.id not in server.table:
            server.learn(peer, tick)


def _set_epoch(server: Server, step: SetConfigEpoch) -> None:
    if len(server.table) == 1:
        server.own.epoch = step.epoch
        server.current_epoch = max(server.current_epoch, step.epoch)


def _add_slots(server: Server, step: AddSlots) -> None:
    if not any(entry.slots & step.slots.mask for entry in server.table.values()):
        server.own.slots |= step.slots.mask


def _reset(server: Server, step: Reset) -> None:
    if not server.own.slots:
        server.reset()


def _bump(server: Server, step: BumpEpoch) -> None:
    server.outrank()


def _cancel(server: Server, step: CancelMigrations) -> None:
    server.migrations = [_cancelled(each) for each in server.migrations]


def _begun(step: Migrate, tick: int) -> SlotMigration:
    return SlotMigration(
        name="m",
        importing=False,
        source=step.source_id,
        target=step.target_id,
        slots=step.slots,
        state=MigrationState.UNDER_WAY,
        message="",
        updated_s=int(moment(tick).timestamp()),
    )


def _cancelled(migration: SlotMigration) -> SlotMigration:
    if migration.state is not MigrationState.UNDER_WAY:
        return migration
    return msgspec.structs.replace(migration, state=MigrationState.CANCELLED)
