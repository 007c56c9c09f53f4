"""Bringing live settings to servers, to all of them at the same time.

Owns: the orders, what is told of them, and what their failures mean; that nothing waits for long for one that does not
answer, and that a refusal stands until that server takes them or is told of others.
Refuses to know: which settings these are, and who needs them (core/shard/settings.py).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentsInTerm, AgentUnreachableError
from valkey_operator.controllers.valkey_facts import ShardView
from valkey_operator.core.render.directives import Origin
from valkey_operator.core.shard.settings import made_otherwise, refusal, refused_directive, to_configure
from valkey_operator.core.validation import Problem
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.live import is_as_asked

ANSWER_WITHIN_S = 1.0
"""Whatever else is due waits as long: a failover, too."""
_REFUSED = frozenset({Outcome.SERVER_REFUSED, Outcome.BAD_ORDER})

Tell = Callable[[Literal["Normal", "Warning"], str, str], None]
"""Tells a user: type, reason and message of an event."""


class WantedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What servers shall have, what is written down for their next start, and where a directive comes from."""

    settings: Mapping[str, str]
    written: Mapping[str, str]
    origin_of: Callable[[str], Origin]


class _Refusal(msgspec.Struct, frozen=True):
    """That a pod's server did not take these settings."""

    pod_uid: str
    settings: Mapping[str, str]
    problem: Problem


class LiveSettings:
    """For one term."""

    def __init__(self, agents: AgentsInTerm) -> None:
        self._agents = agents
        self._refusals: dict[Key, _Refusal] = {}

    async def bring(self, wanted: WantedSettings, view: ShardView, tell: Tell) -> list[Problem]:
        """To every server that has others; what one of them refuses. Raises TransientError once all had their turn."""
        behind = {node: (view.target(node), wanted) for node in to_configure(view.facts)}
        return await self.bring_each(behind, tell, dict.fromkeys(behind, view.facts.record.epoch))

    async def bring_each(
        self, behind: Mapping[str, tuple[Target | None, WantedSettings]], tell: Tell, epochs: Mapping[str, int]
    ) -> list[Problem]:
        """The same for nodes that may each want their own, each in its epoch."""
        orders = (
            self._order(node, target, wanted, epoch=epochs[node], tell=tell)
            for node, (target, wanted) in behind.items()
        )
        ends = dict(zip(behind, await asyncio.gather(*orders), strict=True))
        taken = [node for node, end in ends.items() if end is None]
        if names := sorted({name for node in taken for name in changed(behind[node][1])}):
            tell("Normal", "SettingsChanged", f"{', '.join(taken)} took without a restart: {', '.join(names)}.")
        if problem := next((end for end in ends.values() if isinstance(end, Problem)), None):
            return [problem]
        if silent := next((end for end in ends.values() if isinstance(end, TransientError)), None):
            raise silent
        return []

    async def _order(
        self, node: str, target: Target | None, wanted: WantedSettings, *, epoch: int, tell: Tell
    ) -> Problem | TransientError | None:
        """None: it has taken them."""
        if target is None:
            return AgentUnreachableError(f"The pod of {node} has no address yet")
        settings = dict(wanted.settings)
        try:
            result = await self._agents.order(
                target, "Configure", epoch=epoch, timeout_s=ANSWER_WITHIN_S, settings=settings
            )
        except AgentUnreachableError as error:
            if problem := self._refused_before(target, settings):
                return problem
            # It is not asked again before it was heard.
            self._agents.drop(target)
            return error
        self._refusals.pop(target.key, None)
        if result.outcome in _REFUSED:
            name = refused_directive(result.detail)
            problem = refusal(node, result.detail, wanted.origin_of(name) if name else None)
            self._refusals[target.key] = _Refusal(target.pod_uid, settings, problem)
            return problem
        if not result.obeyed:
            return TransientError(f"{node} did not obey Configure: {result.detail}")
        for name in not_as_asked(wanted, result.settings):
            sentence = made_otherwise(node, result.settings[name], wanted.origin_of(name))
            tell("Warning", "SettingMadeOtherwise", sentence)
        return None

    def _refused_before(self, target: Target, settings: Mapping[str, str]) -> Problem | None:
        """What this very server said of these very settings."""
        known = self._refusals.get(target.key)
        is_same = known is not None and (known.pod_uid, known.settings) == (target.pod_uid, settings)
        return known.problem if known is not None and is_same else None


def changed(wanted: WantedSettings) -> Sequence[str]:
    """The directives that differ from what was written down."""
    names = sorted({*wanted.settings, *wanted.written})
    return [name for name in names if wanted.settings.get(name) != wanted.written.get(name)]


def not_as_asked(wanted: WantedSettings, read: Mapping[str, str]) -> Sequence[str]:
    """The directives of which a server took a value, and has another."""
    asked = sorted(wanted.settings.items())
    return [name for name, value in asked if not is_as_asked(name, value, read.get(name, value))]
