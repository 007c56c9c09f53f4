"""What servers of the model do among themselves: gossip, doubt, elections, atomic migrations, replication.

Owns: one round of each. Refuses to know: what a server makes of what it hears (cluster_servers.py), and clients.
"""

import msgspec

from tests.sim.cluster_servers import NOBODY, Server
from tests.sim.cluster_world import TIMEOUT_TICKS, World, moment
from valkey_operator.valkey.cluster_nodes import Failing, MigrationState, SlotMigration
from valkey_operator.valkey.info import Role


def gossip(world: World) -> None:
    servers = world.running()
    for sender in servers:
        for hearer in servers:
            if sender is hearer or not world.reach(sender, hearer):
                continue
            if hearer.id in sender.table and sender.id in hearer.table:
                hearer.hear(sender, world.tick)
                _introduce(world, sender, hearer)
            elif (
                hearer.id in sender.table
                and hearer.bans.get(sender.id, 0) < world.tick
                and _knows_mate(world, hearer, sender)
            ):
                hearer.learn(sender, world.tick)


def suspect(world: World) -> None:
    for server in world.running():
        for node_id, entry in server.table.items():
            if node_id != server.id and world.tick - entry.heard > TIMEOUT_TICKS and entry.failing is Failing.NO:
                entry.failing = Failing.SUSPECTED
    for server in world.running():
        owners = server.owners()
        voters = [each for each in map(world.by_id, owners) if each is not None and world.reach(each, server)]
        for node_id, entry in server.table.items():
            if entry.failing is Failing.SUSPECTED:
                agreed = sum(_fails(each, node_id) for each in voters)
                if 2 * agreed > len(owners):
                    entry.failing = Failing.AGREED


def elect(world: World) -> None:
    replicas = [each for each in world.running() if each.own.role is Role.REPLICA]
    for replica in sorted(replicas, key=lambda each: -each.offset):
        primary = replica.table.get(replica.own.primary)
        # The fence sets `cluster-replica-no-failover`: otherwise a side with most owners, all fenced, would elect one
        # whose slots somebody serves on the other side.
        is_free = world.is_elected_without_leave or not replica.fenced
        able = replica.whole and is_free and world.chance.random() < 0.5
        if able and primary and primary.slots and primary.failing is Failing.AGREED:
            run_for_primary(world, replica, force=False)


def run_for_primary(world: World, replica: Server, *, force: bool) -> bool:
    """Ask all owners for their vote; be primary if most give it."""
    epoch = replica.current_epoch + 1
    owners, former = replica.owners(), replica.own.primary
    voters = [each for each in map(world.by_id, owners) if each is not None and world.reach(each, replica)]
    granting = [
        each
        for each in voters
        if each.voted_epoch < epoch and each.current_epoch < epoch and (force or _fails(each, former))
        if not _knows_better(each, replica)
    ]
    replica.current_epoch = epoch
    for each in granting:
        each.voted_epoch = each.current_epoch = epoch
    if 2 * len(granting) <= len(owners):
        return False
    replica.promote(epoch)
    world.tell(f"{replica.name} is elected in epoch {epoch}{' by force' if force else ''}")
    gossip(world)
    return True


def finish_migrations(world: World) -> None:
    for source in world.running():
        for number, migration in enumerate(source.migrations):
            if migration.state is MigrationState.UNDER_WAY and not migration.importing and world.chance.random() < 0.7:
                state, why = _finish(world, source, migration.target or NOBODY, migration.slots.mask)
                source.migrations[number] = _ended(migration, state, why, world.tick)


def replicate(world: World) -> None:
    for replica in world.running():
        if replica.own.role is not Role.REPLICA:
            continue
        primary = world.by_id(replica.own.primary)
        able = primary is not None and world.reach(primary, replica) and primary.own.role is Role.PRIMARY
        replica.linked = able
        if primary is not None and able:
            replica.data, replica.opens = dict(primary.data), dict(primary.opens)
            replica.offset, replica.whole = primary.offset, True


def _knows_mate(world: World, hearer: Server, sender: Server) -> bool:
    """A stranger is let in only on the word of somebody known."""
    return any(
        sender.id in mate.table
        for mate in world.running()
        if mate is not sender and mate.id in hearer.table and world.reach(mate, hearer)
    )


def _introduce(world: World, sender: Server, hearer: Server) -> None:
    if len(sender.table) == len(hearer.table):
        return
    for node_id in list(sender.table):
        if node_id not in hearer.table and hearer.bans.get(node_id, 0) < world.tick:
            third = world.by_id(node_id)
            if third is not None and world.reach(third, hearer):
                hearer.learn(third, world.tick)


def _finish(world: World, source: Server, target_id: str, slots: int) -> tuple[MigrationState, str]:
    target = world.by_id(target_id)
    if target is None or not world.reach(source, target) or target.own.role is not Role.PRIMARY:
        return MigrationState.FAILED, "the target is gone"
    if source.own.role is not Role.PRIMARY or slots & ~source.own.slots:
        return MigrationState.FAILED, "Slots are no longer owned by myself"
    if source.id not in target.table or target.id not in source.table:
        return MigrationState.FAILED, "unknown node"
    moved = {slot: bits for slot, bits in source.data.items() if slots >> slot & 1}
    for slot in moved:
        del source.data[slot]
    target.data.update(moved)
    target.offset += 1
    target.current_epoch = max(target.current_epoch, source.current_epoch)
    target.outrank()
    hand_slots(source, target, slots)
    gossip(world)
    return MigrationState.SUCCESS, ""


def hand_slots(source: Server, target: Server, slots: int) -> None:
    """Both know of the new owner."""
    for server in (source, target):
        for entry in server.table.values():
            entry.slots &= ~slots
        server.table[target.id].slots |= slots
        server.table[target.id].epoch = target.own.epoch


def _knows_better(voter: Server, candidate: Server) -> bool:
    """Whether somebody has got a slot since, which the candidate still takes for its primary's."""
    former = candidate.table.get(candidate.own.primary)
    if former is None:
        return True
    return any(
        entry.slots & former.slots and entry.epoch > former.epoch
        for node_id, entry in voter.table.items()
        if node_id != candidate.own.primary
    )


def _fails(server: Server, node_id: str) -> bool:
    return node_id in server.table and server.table[node_id].failing is not Failing.NO


def _ended(migration: SlotMigration, state: MigrationState, why: str, tick: int) -> SlotMigration:
    return msgspec.structs.replace(migration, state=state, message=why, updated_s=int(moment(tick).timestamp()))
