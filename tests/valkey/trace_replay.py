"""A trace of the model, replayed against real servers: each event is made to happen, then claims and servers compared.

Owns: how an event is brought about, by the agents' own orders where there is one, and how long it may take to settle.
Refuses to know: what made the trace (tests/sim), and what counts as a difference (trace_claims.py).
"""

import asyncio
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.sim import shard_events as told
from tests.valkey.gated_agent import ORDER
from tests.valkey.trace_claims import Histories, Seen, find_differences
from tests.valkey.trace_nodes import Node, running_nodes
from valkey_operator.agent.server import ServerError
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.info import Role

DEADLINE_S = 8.0
REFUSALS = ("READONLY", "NOREPLICAS")
ANSWERED_WITHIN_MS = 150
EVENTS_TOLD = 25
KINDS = {
    (Role.PRIMARY, False): pb.START_KIND_WRITABLE_PRIMARY,
    (Role.REPLICA, False): pb.START_KIND_PARKED,
    (Role.REPLICA, True): pb.START_KIND_REPLICA,
}


class DifferenceError(AssertionError):
    """The model claims something that is not so."""


class Replay:
    """Of one trace; `nodes` are there for every node that it names."""

    def __init__(self, nodes: dict[str, Node], deadline_s: float = DEADLINE_S) -> None:
        self._nodes = nodes
        self._deadline_s = deadline_s
        self._histories = Histories()
        self._resynced_at = 0
        """The offset at which the last full resync began."""

    async def run(self, trace: Sequence[told.Step]) -> None:
        """Raise DifferenceError where the model was wrong."""
        for number, step in enumerate(trace):
            try:
                await self._happen(step.event)
                if step.claims is not None:
                    await self._compare(step.claims)
                    self._hold_all()
            except (AssertionError, ServerError) as problem:
                before = "\n".join(f"  {each.event}" for each in trace[max(0, number - EVENTS_TOLD) : number])
                sentence = f"at event {number}, {step.event}:\n{problem}\nafter\n{before}"
                raise DifferenceError(f"{sentence}\nclaims: {step.claims}") from None

    # --- what happens -------------------------------------------------------------------------------------------------

    async def _happen(self, event: told.Event) -> None:
        node = self._nodes[event.node]
        match event:
            case told.Opened():
                await self._open(node, event)
            case told.Told() | told.Promoted():
                await self._order(node, event)
            case told.Attached() | told.TurnedAway() | told.Copied() | told.Cut():
                await self._replicate(node, event)
            case told.Written():
                await self._write(node, event)
            case told.KeptAlive():
                await self._keep_alive(node, event.replica)
            case told.Bound():
                await node.ask("CONFIG", "SET", "min-replicas-to-write", event.least)
            case told.Saved():
                await self._until_taken(node, "SAVE")
            case _:
                self._strike(node, event)

    async def _open(self, node: Node, event: told.Opened) -> None:
        node.made.start_server()
        node.follows = event.follows
        await node.agent.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
        kind = KINDS[event.role, event.follows is not None]
        terms = pb.Terms(least_replicas=event.least) if event.role is Role.PRIMARY else None
        primary = node.address_of(event.follows) if event.follows else None
        await node.agent.obey("Open", pb.OpenRequest(order=ORDER, kind=kind, terms=terms, primary=primary))
        await node.agent.wait_for_health()

    async def _order(self, node: Node, event: told.Event) -> None:
        obey = node.agent.obey
        match event:
            case told.Told(follows=None):
                node.follows = None
                await obey("Park", pb.ParkRequest(order=ORDER))
            case told.Told(follows=str(follows)):
                node.follows = follows
                await obey("Follow", pb.FollowRequest(order=ORDER, primary=node.address_of(follows)))
            case told.Promoted():
                node.follows = None
                seen = await node.look()
                meant, terms = seen.replication_id if seen else "", pb.Terms(least_replicas=event.least)
                await obey("Promote", pb.PromoteRequest(order=ORDER, replication_id=meant, terms=terms))

    async def _replicate(self, node: Node, event: told.Event) -> None:
        match event:
            case told.Attached():
                await self._attach(node, partially=event.partially)
            case told.TurnedAway():
                answer = await node.wire.let_through()
                assert answer.startswith("-NOMASTERLINK"), f"the answer is {answer!r}"
            case told.Copied(everything=True):
                node.wire.flow()
            case told.Copied():
                await node.wire.pass_on(f"\r\n{event.last}\r\n$1\r\n1\r\n".encode())
            case told.Cut():
                node.wire.cut()

    async def _attach(self, node: Node, *, partially: bool) -> None:
        answer = await node.wire.let_through()
        expected = "+CONTINUE" if partially else "+FULLRESYNC"
        assert answer.startswith(expected), f"the answer is {answer!r}, and the model says {expected}"
        if not partially:
            self._resynced_at = int(answer.split()[2])
        await node.agent.wait_for("the link is up", lambda report: report.replication.link.up)
        node.wire.hold()

    async def _keep_alive(self, node: Node, replica: str) -> None:
        """Servers send one when no trace knows; a question to replicas moves offsets just as well.

        Valkey 9.1 sends its own with the first answer that it gets, so that is over, too.
        """
        self._nodes[replica].wire.flow()
        await node.ask("WAIT", 99, ANSWERED_WITHIN_MS)
        before = self._resynced_at
        await node.agent.wait_for("a keep-alive", lambda report: report.replication.offset > before)

    async def _write(self, node: Node, event: told.Written) -> None:
        if not event.values:
            try:
                await node.ask("SET", "0", 1)
            except ServerError as refusal:
                if str(refusal).startswith(REFUSALS):
                    return
                raise
            raise AssertionError("it takes a write, and the model says that it does not")
        for value in event.values:
            await self._until_taken(node, "SET", str(value), 1)

    async def _until_taken(self, node: Node, *words: str | int) -> None:
        """A server looks only once a second how many replicas it has, and at times saves already for one."""
        deadline = time.monotonic() + self._deadline_s
        while True:
            try:
                await node.ask(*words)
            except ServerError as problem:
                if time.monotonic() > deadline:
                    raise AssertionError(f"it does not take {words}: {problem}") from None
                await asyncio.sleep(0.02)
            else:
                return

    def _strike(self, node: Node, event: told.Event) -> None:
        match event:
            case told.Ended():
                node.made.processes[-1].kill()
                node.made.processes[-1].wait(timeout=10)
                node.hung = False
            case told.Wiped():
                for file in (node.made.folder / "data").glob("*.rdb"):
                    file.unlink()
            case told.Hung():
                node.signal(signal.SIGSTOP)
                node.hung = True
            case told.Woken():
                node.signal(signal.SIGCONT)
                node.hung = False

    # --- what is so ---------------------------------------------------------------------------------------------------

    async def _compare(self, claims: Mapping[str, told.Claim]) -> None:
        deadline = time.monotonic() + self._deadline_s
        while True:
            seen = await self._look()
            found = find_differences(claims, seen, self._histories)
            if not found:
                return self._histories.keep(claims, seen)
            assert time.monotonic() < deadline, "\n".join(found) + f"\nseen: {seen}"
            await asyncio.sleep(0.01)

    def _hold_all(self) -> None:
        for node in self._nodes.values():
            for wire, _ in node.wires.values():
                wire.hold()

    async def _look(self) -> dict[str, Seen]:
        looks = {name: await node.look() for name, node in self._nodes.items() if node.runs and not node.hung}
        return {name: seen for name, seen in looks.items() if seen is not None}


async def replay(trace: Sequence[told.Step], version: str, folder: Path, *, deadline_s: float = DEADLINE_S) -> None:
    """Raise DifferenceError where the model was wrong; what it says has to be so after `deadline_s`."""
    names = sorted({step.event.node for step in trace})
    async with running_nodes(names, version, folder) as nodes:
        await Replay(nodes, deadline_s).run(trace)
