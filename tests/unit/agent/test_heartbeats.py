"""Finding those who are to be asked, among many who are not."""

import asyncio
from typing import Any

import pytest

from valkey_operator.agent import heartbeats
from valkey_operator.agent.heartbeats import Heartbeats
from valkey_operator.agent.peers import Answer, Ask
from valkey_operator.wire.identity import Identity, node_identity

NODES = {("10.0.0.1", 9445): "c-0-0", ("10.0.0.2", 9445): "c-1-0", ("10.0.0.3", 9445): "c-9-1"}


class FakeLink:
    def __init__(self, name: str) -> None:
        self.peer = node_identity("app", name)

    async def ask(self, question: Ask) -> Answer:
        return Answer(granted=True, epoch=question.epoch)

    def close(self) -> None:
        pass


class Asker:
    """Wants two of them, of whom one is not there."""

    ask_every_s = 0.01

    def __init__(self) -> None:
        self.answers: list[str] = []

    def wanted_peers(self) -> frozenset[str]:
        return frozenset({"c-1-0", "c-2-0"})

    def question(self) -> Ask:
        return Ask(1, 3000)

    def heard(self, peer: str, _epoch: int, _asked_at: float, _answer: Answer) -> None:
        self.answers.append(peer)


def test_whoever_is_wanted_is_asked_again_and_again_and_others_are_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    async def connect(host: str, port: int, _tls: Any) -> FakeLink:
        called.append(NODES[host, port])
        return FakeLink(NODES[host, port])

    async def find() -> list[tuple[str, int]]:
        return list(NODES)

    async def run() -> list[str]:
        asker, tls, own = Asker(), Any, Identity("app", "c-5-0")
        running = asyncio.create_task(Heartbeats(own, tls, asker, find=find).run())  # type: ignore[arg-type]
        async with asyncio.timeout(10):
            while len(asker.answers) < 5:  # noqa: ASYNC110 - any number of them may come
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return asker.answers

    monkeypatch.setattr(heartbeats, "connect", connect)
    assert set(asyncio.run(run())) == {"c-1-0"}
    assert sorted(called) == ["c-0-0", "c-1-0", "c-9-1"]
