"""Tries to write to every pod at its own address, from the machine the pod runs on: who takes it thinks it is primary.

From its own machine, because a primary that is cut off with its machine still serves whoever is there with it. A
connection is kept for as long as a server may stand still: what it says when it goes on is what an old primary would
tell its clients.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from faults.clients import judge
from faults.connection import Connection, Reply
from faults.history import Outcome, Write
from faults.sight import PodSeen, Sight

PACE_S = 0.02
RETRY_S = 0.1
CONNECT_PATIENCE_S = 1.0
PATIENCE_S = 75.0


class Probed(NamedTuple):
    """A key that counts for nothing and stays small, one for all pods."""

    key: str
    slot: int = 0


class Prober:
    def __init__(
        self, sight: Sight, password: str, network_of: Callable[[str], Path], probed: Sequence[Probed]
    ) -> None:
        self._sight = sight
        self._keys = probed
        # As many writes in a second, however many keys: clients share two cores with what they call.
        self._pace_s = PACE_S * len(probed)
        self._password = password
        self._network_of = network_of
        self._probed: set[PodSeen] = set()
        self.writes: list[Write] = []

    async def probe_all(self) -> None:
        """Also pods that come later; those that were deleted are still tried."""
        async with asyncio.TaskGroup() as group:
            while True:
                for pod in self._sight.pods_ever - self._probed:
                    self._probed.add(pod)
                    group.create_task(self._probe(pod))
                await asyncio.sleep(PACE_S)

    async def _probe(self, pod: PodSeen) -> None:
        netns = self._network_of(pod.machine)
        while True:
            try:
                connection = await Connection.open(netns, pod.address, self._password, CONNECT_PATIENCE_S)
            except (OSError, TimeoutError):
                await asyncio.sleep(RETRY_S)
                continue
            try:
                await self._write_while_answered(connection)
            finally:
                connection.close()

    async def _write_while_answered(self, connection: Connection) -> None:
        number, answered = 0, True
        while answered:
            number += 1
            replies: list[Reply] = []
            sent_s = time.time()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await connection.ask([("TIME",), *(("SET", each.key, number) for each in self._keys)], replies)
            except (OSError, TimeoutError):
                answered = False
            self._note(number, sent_s, connection.server, replies)
            await asyncio.sleep(self._pace_s)

    def _note(self, number: int, sent_s: float, server: str, replies: Sequence[Reply]) -> None:
        """Refusals are what is expected of all but one, and would only fill the memory."""
        for index, each in enumerate(self._keys, start=1):
            write = judge(number, sent_s, server, (*replies[:1], *replies[index : index + 1]))
            if write.outcome is not Outcome.REFUSED:
                self.writes.append(write._replace(slot=each.slot))
