"""Asking agents and giving them orders.

Owns: one call, its deadline, its typed failure, and that an order is given only in the term it belongs to.
Refuses to know: what to order, and when (core); whether it is obeyed is for the agent to say.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
import msgspec

from valkey_operator.controllers.agents.channels import Channels, Target
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.messages import Outcome, order_message, outcome_of, view_of
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.core.node_view import NodeView
from valkey_operator.kube.objects import Key
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.terms import Terms
from valkey_operator.wire.agent_client import AgentClient
from valkey_operator.wire.tls import TlsFilesError

REPORT_WITHIN_S = 1.0
ORDER_WITHIN_S = 3.0
ASK_AGAIN_AFTER_S = 3.0
MOST_PULLS = 16
_MOST_DETAIL = 200
_MAKE_PRIMARIES = frozenset({"Promote", "Open"})
_Answer = TypeVar("_Answer")


class AgentUnreachableError(TransientError):
    """The agent did not answer, or is not the one that was meant. An order may have been carried out or not."""


class OrderResult(msgspec.Struct, frozen=True):
    """What an agent answered to an order; `view` is the state afterwards, `settings` what Configure read back."""

    outcome: Outcome
    detail: str
    view: NodeView
    settings: Mapping[str, str]

    @property
    def obeyed(self) -> bool:
        """Whether it was carried out."""
        return self.outcome is Outcome.OBEYED


class Agents:
    """All agents; `check_term` raises unless we lead in that term at this very moment."""

    def __init__(
        self, reports: Reports, channels: Channels, grants: Grants, *, check_term: Callable[[int], None]
    ) -> None:
        self._reports = reports
        self._channels = channels
        self._grants = grants
        self._check_term = check_term
        self._silent_since: dict[str, float] = {}

    def in_term(self, term: int) -> "AgentsInTerm":
        """The agents for the work of one term."""
        return AgentsInTerm(self, term)

    async def report(self, target: Target, *, timeout_s: float = REPORT_WITHIN_S) -> NodeView:
        """The node's state at this moment, asked of its server; raises `AgentUnreachableError`."""
        view = self._heard(target, await self._call(target, lambda client: client.report(timeout_s=timeout_s)))
        if view.pod_uid != target.pod_uid:
            raise AgentUnreachableError(
                f"The agent of {target.key} at {target.address} is that of pod {view.pod_uid!r}, "
                f"and {target.pod_uid!r} is meant."
            )
        return view

    async def order(
        self,
        target: Target,
        name: str,
        /,
        *,
        term: int,
        epoch: int,
        timeout_s: float = ORDER_WITHIN_S,
        **fields: Any,  # noqa: ANN401 - of agent.proto, or Address and StartKind
    ) -> OrderResult:
        """Give an order by its name in agent.proto; raises `AgentUnreachableError`, and `NotLeaderError` before it.

        A refusal is no exception but an outcome.
        """

        def give(client: AgentClient) -> Awaitable[pb.Result]:
            self._check_term(term)
            leave = self._leave_for(target, epoch) if _needs_leave(name, fields) else None
            order = pb.Order(term=term, epoch=epoch, pod_uid=target.pod_uid, leave=leave)
            return client.order(name, order_message(name, order, fields), timeout_s=timeout_s)

        result = await self._call(target, give)
        view = self._heard(target, result.report)
        return OrderResult(outcome_of(result), result.detail, view, dict(result.settings))

    def _leave_for(self, target: Target, epoch: int) -> pb.Leave | None:
        """Leave to whom the record lets write, from when it last spoke to us: so it need not come back and ask."""
        heard = self._reports.get(target.key, target.pod_uid)
        if heard is None or not heard.view.clock_ms or not self._grants.may_write(target.key, epoch, target.pod_uid):
            return None
        return pb.Leave(boot_id=heard.view.boot_id, clock_ms=heard.view.clock_ms)

    async def pull(
        self, targets: Iterable[Target], *, timeout_s: float = REPORT_WITHIN_S
    ) -> dict[Key, NodeView | AgentUnreachableError]:
        """The states of many at this moment; one that does not answer is an error in its place."""
        slots = asyncio.Semaphore(MOST_PULLS)

        async def pull_one(target: Target) -> tuple[Key, NodeView | AgentUnreachableError]:
            async with slots:
                return target.key, await self.answer_or_error(target, self.report(target, timeout_s=timeout_s))

        return dict(await asyncio.gather(*(pull_one(target) for target in targets)))

    async def answer_or_error(self, target: Target, answer: Awaitable[_Answer]) -> _Answer | AgentUnreachableError:
        """What it answers; one that does not is not asked again at once."""
        try:
            return await answer
        except AgentUnreachableError as error:
            self._silent_since[target.pod_uid] = asyncio.get_running_loop().time()
            self.drop(target)
            return error

    def drop(self, target: Target) -> None:
        """It did not answer: whatever it said before may be untrue by now."""
        self._reports.drop(target.key, target.pod_uid)

    def is_silent(self, target: Target) -> bool:
        """Whether it did not answer just now: it will report by itself, or be asked again a little later."""
        since = self._silent_since.get(target.pod_uid)
        return since is not None and asyncio.get_running_loop().time() - since < ASK_AGAIN_AFTER_S

    async def hang_up(self, pod_uid: str) -> None:
        """The pod is gone."""
        self._silent_since.pop(pod_uid, None)
        await self._channels.retire(pod_uid)

    async def _call(self, target: Target, say: Callable[[AgentClient], Awaitable[_Answer]]) -> _Answer:
        try:
            async with self._channels.to(target) as client:
                return await say(client)
        except grpc.aio.AioRpcError as error:
            # The connection may be one to a machine that is gone, on which every call would wait in vain.
            await self._channels.retire(target.pod_uid)
            reason = f"{error.code().name}: {(error.details() or 'no details')[:_MOST_DETAIL]}"
            raise _unreachable(target, " ".join(reason.split())) from error
        except TlsFilesError as error:
            raise _unreachable(target, str(error)) from error

    def _heard(self, target: Target, report: pb.NodeReport) -> NodeView:
        self._silent_since.pop(target.pod_uid, None)
        view = view_of(report)
        if view.pod_uid:
            self._reports.put(target.key, view)
        return view


def _needs_leave(name: str, fields: Mapping[str, Any]) -> bool:
    """Whether whoever obeys needs leave at once: it is made a primary, or bound anew as a node of a cluster."""
    terms = fields.get("terms")
    return name in _MAKE_PRIMARIES or (isinstance(terms, Terms) and terms.elected)


def _unreachable(target: Target, reason: str) -> AgentUnreachableError:
    return AgentUnreachableError(f"The agent of {target.key} at {target.address} does not answer ({reason}).")


@dataclass(frozen=True)
class AgentsInTerm:
    """The agents for the work of one term: no order is given once that is over."""

    agents: Agents
    term: int

    async def report(self, target: Target, *, timeout_s: float = REPORT_WITHIN_S) -> NodeView:
        """See `Agents.report`."""
        return await self.agents.report(target, timeout_s=timeout_s)

    async def order(
        self,
        target: Target,
        name: str,
        /,
        *,
        epoch: int,
        timeout_s: float = ORDER_WITHIN_S,
        **fields: Any,  # noqa: ANN401 - see Agents.order
    ) -> OrderResult:
        """See `Agents.order`."""
        return await self.agents.order(target, name, term=self.term, epoch=epoch, timeout_s=timeout_s, **fields)

    async def pull(
        self, targets: Iterable[Target], *, timeout_s: float = REPORT_WITHIN_S
    ) -> dict[Key, NodeView | AgentUnreachableError]:
        """See `Agents.pull`."""
        return await self.agents.pull(targets, timeout_s=timeout_s)

    async def order_all(
        self, targets: Iterable[Target], name: str, *, epoch: int, timeout_s: float
    ) -> dict[Target, OrderResult | AgentUnreachableError]:
        """The same order to many at once; one that does not answer is an error in its place."""

        async def give(target: Target) -> tuple[Target, OrderResult | AgentUnreachableError]:
            order = self.order(target, name, epoch=epoch, timeout_s=timeout_s)
            return target, await self.agents.answer_or_error(target, order)

        return dict(await asyncio.gather(*(give(target) for target in targets)))

    def is_silent(self, target: Target) -> bool:
        """See `Agents.is_silent`."""
        return self.agents.is_silent(target)

    def drop(self, target: Target) -> None:
        """See `Agents.drop`."""
        self.agents.drop(target)
