"""How an agent of the model carries orders out, after the real checks.

Owns: what each order does to the server. Refuses to know: who gives it, and why.
"""

from collections.abc import Callable
from functools import partial

from tests.sim.shard_model import BrokenRuleError, Pod, World
from tests.sim.shard_pods import boot_id_of
from tests.sim.shard_servers import Server
from valkey_operator.agent import orders
from valkey_operator.agent.orders import Refusal
from valkey_operator.agent.promise import Given, given_by_start
from valkey_operator.core.shard.steps import Bind, Follow, Kill, Open, Order, Park, Promote, Release
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.terms import Terms


class NotObeyed(Exception):  # noqa: N818 - an outcome
    """An order did not arrive or was refused: everything is looked at again later.

    `promised`: it was accepted, and only the server did not do it.
    """

    def __init__(self, sentence: str, *, promised: bool = False) -> None:
        super().__init__(sentence)
        self.promised = promised


def obey(world: World, pod: Pod, step: Order, order: pb.Order) -> None:
    """Check an order and carry it out; raises NotObeyed."""
    agent = pod.agent
    try:
        accepted = orders.check_order(order, pod_uid=pod.uid, promise=agent.promise, given=_given(step, pod))
    except Refusal as refusal:
        raise NotObeyed(f"{pod.node}: {refusal}") from None
    agent.keep(accepted, pod.server, world.now)
    if order.HasField("leave") and order.leave.boot_id == boot_id_of(pod):
        asked_at = world.now if world.leave.counts_from_the_order else order.leave.clock_ms / 1000
        agent.take(operator=max(agent.of_this_epoch().operator, asked_at))
    world.tell(f"order of term {order.term}, epoch {order.epoch}: {type(step).__name__} {pod.node} ({pod.uid})")
    if isinstance(step, Bind):
        _bind(world, pod, step.terms)
    elif isinstance(step, Open):
        _open(world, pod, step)
    else:
        server = pod.server
        if server is None or server.role is None:
            raise NotObeyed(f"{pod.node} has no server that runs", promised=True)
        _command(world, pod, server, step)


def _given(step: Order, pod: Pod) -> Given:
    if isinstance(step, Open):
        return given_by_start(step.kind)
    return orders.given_by_order(type(step).__name__, pb.Order(), pod.agent.promise.given)


def _open(world: World, pod: Pod, step: Open) -> None:
    is_primary = step.kind is StartKind.WRITABLE_PRIMARY
    if is_primary:
        _bind(world, pod, step.terms or Terms())
    if pod.server is not None and pod.server.role is None:
        role = Role.PRIMARY if is_primary else Role.REPLICA
        least = step.terms.least_replicas if step.terms else 0
        world.open(pod, role, follows=node_at(step.primary.host) if step.primary else None, least=least)


def _bind(world: World, pod: Pod, terms: Terms) -> None:
    """No primary takes terms by which it may not write."""
    if not may_be_bound(world, pod, terms):
        raise NotObeyed(f"nobody grants epoch {pod.agent.promise.epoch} to {pod.node}")


def may_be_bound(world: World, pod: Pod, terms: Terms) -> bool:
    return world.leave.accept(pod, terms, world.now)


def has_data_meant(server: Server, step: Promote) -> bool:
    return server.history == step.replication_id and server.offset >= step.at_least_offset


def _command(world: World, pod: Pod, server: Server, step: Order) -> None:
    if isinstance(step, Kill):
        if not server.hung:
            raise NotObeyed(f"the server of {pod.node} answers, and is not killed")
        world.end_server(pod)
        return
    if server.hung and isinstance(step, Promote):
        raise _no_answer(pod)
    match step:
        case Follow():
            _tell_server(pod, server, partial(world.follow, pod, node_at(step.primary.host)))
        case Park():
            _tell_server(pod, server, partial(world.follow, pod, None))
        case Promote():
            if not has_data_meant(server, step):
                raise NotObeyed(f"{pod.node} has other data than were meant")
            _bind(world, pod, step.terms)
            server.hung = server.hung or world.hangs_now()
            _tell_server(pod, server, partial(world.promote, pod, least=step.terms.least_replicas))
        case Release():
            pass
        case _:
            raise BrokenRuleError(f"nobody asked for {step}")


def _tell_server(pod: Pod, server: Server, command: Callable[[], None]) -> None:
    """One that hangs does it when it wakes."""
    if server.hung:
        server.late.append(command)
        raise _no_answer(pod)
    command()


def _no_answer(pod: Pod) -> NotObeyed:
    return NotObeyed(f"the server of {pod.node} does not answer", promised=True)


def node_at(host: str) -> str:
    return host.removesuffix(".svc")
