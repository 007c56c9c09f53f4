"""The password of user default follows its file while the server runs: a Secret that changes needs no restart.

Owns: when a new password is accepted, used towards the primary, and the only one. Refuses to know: who changed it.

Every pod gets a changed Secret at another moment, kubelet by kubelet, and none waits for another. So a server accepts
both passwords at first; it logs in to its primary with the new one when that must have it, too; and it drops the former
one when everybody must have done so. What was accepted before is asked of the server, so a new agent goes on.
"""

import asyncio

import msgspec
import structlog

from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Facts, is_running
from valkey_operator.agent.server import ServerError
from valkey_operator.agent.watch import ProcessId
from valkey_operator.valkey.boot import password_hash
from valkey_operator.valkey.states import Health

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
_REMOVE = "!"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long after it was accepted a password is used, and is the only one; kubelet takes 90 s at most."""

    use_after_s: float = 120.0
    only_after_s: float = 240.0


class _Taken(msgspec.Struct, frozen=True):
    password: str
    process: ProcessId


class PasswordFollower:
    """Of one node that has a password file."""

    def __init__(self, node: Node, pace: Pace | None = None) -> None:
        self._node = node
        self._pace = pace or Pace()
        self._taken: _Taken | None = None
        self._since = 0.0
        self._settled = False

    async def run(self) -> None:
        """Look at the file for ever."""
        while True:
            try:
                await self._look()
            except (OSError, UnicodeDecodeError, ServerError) as problem:
                log.warning("the password cannot be brought to the server", reason=str(problem))
            await asyncio.sleep(LOOK_EVERY_S)

    async def _look(self) -> None:
        password, process = self._node.read_password(), serving(self._node.report.facts)
        if password is None or process is None:
            return
        now = asyncio.get_running_loop().time()
        if self._taken != _Taken(password, process):
            self._taken, self._since, self._settled = _Taken(password, process), now, False
        if not self._settled:
            self._settled = await self._bring(password, now - self._since)

    async def _bring(self, password: str, age_s: float) -> bool:
        """Bring the server as far as is due; whether it is all done."""
        fresh, accepted = password_hash(password), await self._accepted()
        if fresh not in accepted:
            await self._node.connection.call("ACL", "SETUSER", "default", fresh)
            log.info("a new password is accepted")
        former = accepted - {fresh}
        if former and age_s >= self._pace.use_after_s:
            await self._node.connection.call("CONFIG", "SET", "primaryauth", password)
        if former and age_s >= self._pace.only_after_s:
            removals = [_REMOVE + each.removeprefix("#") for each in sorted(former)]
            await self._node.connection.call("ACL", "SETUSER", "default", *removals)
            log.info("the former password is dropped")
            return True
        return not former

    async def _accepted(self) -> set[str]:
        reply = await self._node.connection.call("ACL", "GETUSER", "default")
        user = dict(zip(reply[::2], reply[1::2], strict=True))
        return {f"#{each}" for each in user["passwords"]}


def serving(facts: Facts) -> ProcessId | None:
    """The process of a server that answers."""
    answers = is_running(facts) and facts.server is not None and facts.server.health is Health.ANSWERS
    return facts.process.process if answers else None
