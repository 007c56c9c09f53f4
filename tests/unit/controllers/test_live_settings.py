"""Whom settings are brought to, how long that holds up what else is due, and what is told of it."""

import asyncio
from typing import Any

import pytest

from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentUnreachableError, OrderResult
from valkey_operator.controllers.live_settings import (
    ANSWER_WITHIN_S,
    LiveSettings,
    WantedSettings,
    changed,
    not_as_asked,
)
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.render.directives import Origin
from valkey_operator.core.validation import Problem
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.states import ProcessState


def wanted(settings: dict[str, str], written: dict[str, str] | None = None) -> WantedSettings:
    return WantedSettings(
        settings=settings,
        written=written or {},
        origin_of=lambda name: Origin(f"spec.config.{name}", settings[name]),
    )


def test_what_came_changed_or_went_is_named() -> None:
    before = {"hz": "10", "timeout": "5", "save": ""}
    assert changed(wanted({"hz": "20", "save": "", "maxmemory": "1gb"}, before)) == ["hz", "maxmemory", "timeout"]


def test_a_value_that_the_server_writes_its_own_way_is_no_news() -> None:
    asked = wanted({"maxmemory": "1gb", "hz": "20"})
    assert not_as_asked(asked, {"maxmemory": str(1 << 30), "hz": "20"}) == []


def test_a_value_that_the_server_made_something_else_of_is_told() -> None:
    assert not_as_asked(wanted({"hz": "1000"}), {"hz": "500"}) == ["hz"]


def test_what_was_not_read_back_is_not_judged() -> None:
    assert not_as_asked(wanted({"hz": "20"}), {}) == []


class Agents:
    """Those in `silent` do not answer in time, those in `refusing` refuse, the others obey."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self.refusing: set[str] = set()
        self.dropped: list[str] = []

    async def order(self, target: Target, name: str, /, *, timeout_s: float, **_: Any) -> OrderResult:
        node = target.key.name
        if node in self.silent:
            await asyncio.sleep(timeout_s)
            raise AgentUnreachableError(f"{node} does not answer")
        outcome = Outcome.SERVER_REFUSED if node in self.refusing else Outcome.OBEYED
        view = NodeView(pod_uid=target.pod_uid, boot_id="", seq=1, process=ProcessState.RUNNING)
        return OrderResult(outcome, f"ERR {name} of 'hz' failed", view, {})

    def drop(self, target: Target) -> None:
        self.dropped.append(target.key.name)


class Bringing:
    """Settings for three nodes, and what was told of them."""

    def __init__(self) -> None:
        self.agents = Agents()
        self.told: list[str] = []
        agents: Any = self.agents
        self._settings = LiveSettings(agents)

    async def bring(self, hz: str = "20") -> list[Problem]:
        asked = wanted({"hz": hz})
        behind = {node: (Target(Key("app", node), f"uid-{node}", "10.0.0.1"), asked) for node in ("a", "b", "c")}
        return await self._settings.bring_each(
            behind, lambda *words: self.told.append(words[2]), dict.fromkeys(behind, 1)
        )


def test_two_that_do_not_answer_hold_up_nothing_for_longer_than_one_and_are_not_believed_any_more() -> None:
    async def scene() -> None:
        bringing, clock = Bringing(), asyncio.get_running_loop().time
        bringing.agents.silent = {"a", "b"}
        begun = clock()
        with pytest.raises(TransientError, match="a does not answer"):
            await bringing.bring()
        assert clock() - begun < 1.5 * ANSWER_WITHIN_S
        assert bringing.told == ["c took without a restart: hz."]
        assert bringing.agents.dropped == ["a", "b"]

    asyncio.run(scene())


def test_a_refusal_stands_although_that_server_does_not_answer_until_it_is_told_of_others() -> None:
    async def scene() -> None:
        bringing = Bringing()
        bringing.agents.refusing = {"b"}
        [problem] = await bringing.bring()
        bringing.agents.silent = {"b"}
        assert await bringing.bring() == [problem]
        assert bringing.agents.dropped == []
        with pytest.raises(TransientError):
            await bringing.bring(hz="30")

    asyncio.run(scene())


def test_a_refusal_ends_once_that_server_takes_them() -> None:
    async def scene() -> None:
        bringing = Bringing()
        bringing.agents.refusing = {"b"}
        assert len(await bringing.bring()) == 1
        bringing.agents.refusing = set()
        assert await bringing.bring() == []

    asyncio.run(scene())
