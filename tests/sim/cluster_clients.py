"""Clients of the model: what they write where, and which of it is confirmed.

Owns: who would take a write at this moment, and what was confirmed: what an owner and all who follow it have.
Refuses to know: how servers come to own slots.
"""

from tests.sim.cluster_servers import Server
from tests.sim.cluster_world import WRITTEN_SLOTS, World
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS


def write(world: World) -> None:
    """Each slot gets one write at every server that would take it."""
    for slot in WRITTEN_SLOTS:
        takers = [taker for server in world.running() if (taker := _taker(world, server, slot))]
        distinct = {taker.id: taker for taker in takers}
        world.two_writers[slot] = world.two_writers.get(slot, 0) + 1 if len(distinct) > 1 else 0
        for taker in distinct.values():
            taker.data[slot] = taker.data.get(slot, 0) | 1 << world.written
            taker.offset += 1
            world.written += 1


def serves(world: World, server: Server) -> bool:
    """Whether it answers clients: a primary that is not fenced, reaches most owners, and sees all slots covered."""
    if server.own.role is not Role.PRIMARY or server.fenced:
        return False
    owners = [server.table[node_id] for node_id in server.owners()]
    seen = sum(entry.failing is Failing.NO for entry in owners)
    covered = sum(entry.slots for entry in owners if entry.failing is not Failing.AGREED)
    return 2 * seen > len(owners) and covered == ALL_SLOTS.mask


def confirm(world: World) -> None:
    """What an owner and all who follow it have."""
    for owner in world.running():
        followers = [each for each in world.running() if each.own.primary == owner.id]
        if owner.own.role is not Role.PRIMARY or not serves(world, owner):
            continue
        for slot in WRITTEN_SLOTS:
            if owner.own.slots >> slot & 1 and followers:
                common = owner.data.get(slot, 0)
                for each in followers:
                    common &= each.data.get(slot, 0)
                world.confirmed[slot] = world.confirmed.get(slot, 0) | common


def _taker(world: World, server: Server, slot: int) -> Server | None:
    if not (server.own.slots >> slot & 1) or not serves(world, server):
        return None
    opened = server.opens.get(slot)
    if opened is not None and not opened.importing and not server.data.get(slot):
        asked = world.by_id(opened.peer)
        imports = asked is not None and slot in asked.opens and asked.opens[slot].importing
        return asked if imports and asked and serves(world, asked) else None
    return server
