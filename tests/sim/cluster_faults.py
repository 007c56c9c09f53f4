"""What happens to a cluster in the model: faults, wishes of its user, and what people do by hand.

Owns: the events. Refuses to know: when they come (cluster_chaos.py).
"""

from collections.abc import Callable

from tests.sim.cluster_operator import Operator
from tests.sim.cluster_orders import acquaint
from tests.sim.cluster_servers import Server
from tests.sim.cluster_world import Node, World
from valkey_operator.valkey.cluster_nodes import OpenSlot
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import ProcessState

Event = Callable[[World, Operator], None]


def _any_node(world: World) -> Node | None:
    """More often one of the same shard: only faults that meet test anything."""
    nodes = sorted(world.ours(), key=lambda node: node.name)
    mates = [node for node in nodes if node.shard == world.seed % 3]
    return world.chance.choice(mates if mates and world.chance.random() < 0.6 else nodes) if nodes else None


def kill_one(world: World, operator: Operator) -> None:
    node = _any_node(world)
    if node is not None:
        world.kill(node)


def kill_all(world: World, operator: Operator) -> None:
    if world.chance.random() < 0.3:
        for node in world.ours():
            world.kill(node)


def lose_a_disk(world: World, operator: Operator) -> None:
    """Only of a shard that has another copy, and one at a time: two at once is a loss that nobody promises against."""
    node = _any_node(world)
    if node is None or operator.spec.replicas < 2:
        return
    mates = [each for each in world.ours() if each.shard == node.shard and each is not node]
    if mates and all(_has_a_copy_of(each, node) for each in mates):
        world.lose_disk(node)


def _has_a_copy_of(mate: Node, node: Node) -> bool:
    """Whether a mate that is not cut off follows it, or is followed by it, with all its data."""
    server, other = mate.running, node.running
    if server is None or other is None or mate.side != 0:
        return False
    return server.whole and (server.own.primary in {other.id, other.own.primary} or other.own.primary == server.id)


def cut_one(world: World, operator: Operator) -> None:
    node = _any_node(world)
    if node is not None and node.side == 0:
        node.side = 1
        world.tell(f"{node.name} is cut off")


def cut_most(world: World, operator: Operator) -> None:
    """Most owners of slots at once, and some of their replicas with them."""
    nodes = [node for node in sorted(world.ours(), key=lambda node: node.name) if node.side == 0]
    owners = [node for node in nodes if node.running and node.running.own.slots]
    chosen = world.chance.sample(owners, len(owners) // 2 + 1) if owners else []
    for node in chosen + [node for node in nodes if node not in owners and world.chance.random() < 0.2]:
        node.side = 1
    world.tell(f"{', '.join(node.name for node in world.ours() if node.side)} are cut off")


def mend_network(world: World, operator: Operator) -> None:
    world.tell("the network is whole")
    for node in world.nodes.values():
        node.side = 0


def stop_the_operator(world: World, operator: Operator) -> None:
    operator.back_at = world.tick + world.chance.randint(2, 8)
    world.tell(f"the operator is away until {operator.back_at}")


def change_shards(world: World, operator: Operator) -> None:
    operator.spec.shards = world.chance.choice([3, 4, 5])
    world.tell(f"shards: {operator.spec.shards}")


def change_replicas(world: World, operator: Operator) -> None:
    operator.spec.replicas = world.chance.choice([1, 2, 3])
    world.tell(f"replicas: {operator.spec.replicas}")


def roll(world: World, operator: Operator) -> None:
    world.tell("all pods are to be replaced")
    for node in world.ours():
        node.stale = True


def sleep(world: World, operator: Operator) -> None:
    """Suspend for a while, or wake up."""
    operator.spec.replicas = 0 if operator.spec.replicas else 2
    world.tell(f"replicas: {operator.spec.replicas}")


def follow_by_hand(world: World, operator: Operator) -> None:
    """Somebody attaches a replica to a primary of another shard."""
    servers = [server for server in world.running() if world.nodes[server.name].side == 0]
    replicas = [server for server in servers if server.own.role is Role.REPLICA]
    primaries = [server for server in servers if server.own.slots]
    if replicas and primaries:
        replica, primary = world.chance.choice(replicas), world.chance.choice(primaries)
        has_another = world.by_id(replica.own.primary) is not None
        if has_another and primary.id in replica.table and replica.own.primary != primary.id:
            replica.follow(primary.id)
            replica.data, replica.whole = {}, False
            world.tell(f"somebody lets {replica.name} follow {primary.name}")


def open_by_hand(world: World, operator: Operator) -> None:
    """Somebody begins to move a slot, on one side or on both, and leaves."""
    owners = [server for server in world.running() if server.own.slots and world.nodes[server.name].side == 0]
    if len(owners) < 2:
        return
    source, target = world.chance.sample(owners, 2)
    slot = (source.own.slots & -source.own.slots).bit_length() - 1
    sides = world.chance.choice(["source", "target", "both"])
    if sides != "target" and target.id in source.table:
        source.opens[slot] = OpenSlot(slot=slot, importing=False, peer=target.id)
    if sides != "source" and source.id in target.table:
        target.opens[slot] = OpenSlot(slot=slot, importing=True, peer=source.id)
    world.tell(f"somebody opens slot {slot} between {source.name} and {target.name}: {sides}")


def let_in_a_stranger(world: World, operator: Operator) -> None:
    """A node of somebody else joins, by an address that was ours."""
    if "stranger" in world.nodes or not world.running():
        return
    stranger = Server(name="stranger", id=world.new_id())
    world.nodes["stranger"] = Node("stranger", 99, 0, server=stranger, state=ProcessState.RUNNING, ours=False)
    acquaint(stranger, world.chance.choice(world.running()), world.tick)
    world.tell("a stranger joins")


def end_faults(world: World, operator: Operator) -> None:
    """The last word of network and user."""
    mend_network(world, operator)
    operator.back_at = 0
    operator.spec.replicas = operator.spec.replicas or 2
    if operator.record.asleep is not None:
        operator.spec.shards = operator.record.asleep.asked


WISHES: tuple[Event, ...] = (change_shards, change_shards, change_replicas, roll, sleep)
FAULTS: tuple[Event, ...] = (
    kill_one,
    kill_one,
    kill_all,
    lose_a_disk,
    cut_one,
    cut_one,
    cut_most,
    mend_network,
    stop_the_operator,
)
BY_HAND: tuple[Event, ...] = (follow_by_hand, open_by_hand, let_in_a_stranger)
