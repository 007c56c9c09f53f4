"""Bringing live settings to the servers of a shard, one after the other.

Owns: the orders, what is told of them, and what their failures mean. Refuses to know: which settings these are, and who
needs them (core/shard/settings.py).
"""

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
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.live import is_as_asked

_REFUSED = frozenset({Outcome.SERVER_REFUSED, Outcome.BAD_ORDER})

Tell = Callable[[Literal["Normal", "Warning"], str, str], None]
"""Tells a user: type, reason and message of an event."""


class WantedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What servers shall have, what is written down for their next start, and where a directive comes from."""

    settings: Mapping[str, str]
    written: Mapping[str, str]
    origin_of: Callable[[str], Origin]


class LiveSettings:
    """For one term."""

    def __init__(self, agents: AgentsInTerm) -> None:
        self._agents = agents

    async def bring(self, wanted: WantedSettings, view: ShardView, tell: Tell) -> list[Problem]:
        """To every server that has others; what one of them refuses. Raises TransientError once all had their turn."""
        behind = {node: (view.target(node), wanted) for node in to_configure(view.facts)}
        return await self.bring_each(behind, tell, dict.fromkeys(behind, view.facts.record.epoch))

    async def bring_each(
        self, behind: Mapping[str, tuple[Target | None, WantedSettings]], tell: Tell, epochs: Mapping[str, int]
    ) -> list[Problem]:
        """The same for nodes that may each want their own, each in its epoch."""
        taken: list[str] = []
        names: set[str] = set()
        silent: TransientError | None = None
        for node, (target, wanted) in behind.items():
            try:
                problem = await self._order(node, target, wanted, epoch=epochs[node], tell=tell)
            except TransientError as error:
                silent = error
                continue
            if problem is not None:
                return [problem]
            taken.append(node)
            names.update(changed(wanted))
        if names:
            tell("Normal", "SettingsChanged", f"{', '.join(taken)} took without a restart: {', '.join(sorted(names))}.")
        if silent is not None:
            raise silent
        return []

    async def _order(
        self, node: str, target: Target | None, wanted: WantedSettings, *, epoch: int, tell: Tell
    ) -> Problem | None:
        if target is None:
            raise AgentUnreachableError(f"The pod of {node} has no address yet")
        result = await self._agents.order(target, "Configure", epoch=epoch, settings=dict(wanted.settings))
        if result.outcome in _REFUSED:
            name = refused_directive(result.detail)
            return refusal(node, result.detail, wanted.origin_of(name) if name else None)
        if not result.obeyed:
            raise TransientError(f"{node} did not obey Configure: {result.detail}")
        for name in not_as_asked(wanted, result.settings):
            sentence = made_otherwise(node, result.settings[name], wanted.origin_of(name))
            tell("Warning", "SettingMadeOtherwise", sentence)
        return None


def changed(wanted: WantedSettings) -> Sequence[str]:
    """The directives that differ from what was written down."""
    names = sorted({*wanted.settings, *wanted.written})
    return [name for name in names if wanted.settings.get(name) != wanted.written.get(name)]


def not_as_asked(wanted: WantedSettings, read: Mapping[str, str]) -> Sequence[str]:
    """The directives of which a server took a value, and has another."""
    asked = sorted(wanted.settings.items())
    return [name for name, value in asked if not is_as_asked(name, value, read.get(name, value))]
