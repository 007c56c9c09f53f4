"""Ends a server that passed the gate without a start, so that it comes again.

Owns: how such a server is recognised, and how often one is ended. Refuses to know: how it is started again (kubelet).

It got an empty answer, from an agent that died or was frozen while answering, and is what boot.conf alone makes: no
port, fenced, and without the agent's user. It serves nobody, for ever. It is killed, not asked to end: at its end it
would write a snapshot of data that nobody told it to have.
"""

import asyncio
from pathlib import Path

import structlog

from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Facts, is_running
from valkey_operator.agent.server import ServerError, ask_as_default_user
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.states import Health

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
END_EVERY_S = 5.0
_BASE = {"port": "0", "tls-port": "0", "min-replicas-to-write": str(FENCED)}


async def end_safe_bases(node: Node, socket: Path) -> None:
    """End one after the other, if they come; for ever."""
    while True:
        await node.wait_for(lambda report: refuses(report.facts))
        process = node.report.facts.process.process
        if await is_safe_base(socket) and process is not None and process == node.report.facts.process.process:
            log.warning("the server passed the gate without a start, and is ended", pid=process.pid)
            node.end_server(process)
            await asyncio.sleep(END_EVERY_S)
        await asyncio.sleep(LOOK_EVERY_S)


def refuses(facts: Facts) -> bool:
    """Whether a server runs that does not know the agent; a user may have changed that, too."""
    return is_running(facts) and facts.server is not None and facts.server.health is Health.REFUSES


async def is_safe_base(socket: Path) -> bool:
    """Whether the server at this socket is what boot.conf alone makes; it lets anybody at the socket in."""
    try:
        reply = await ask_as_default_user(socket, "CONFIG", "GET", *_BASE)
    except ServerError as problem:
        log.debug("no safe base", reason=str(problem))
        return False
    found = dict(zip(reply[::2], reply[1::2], strict=True))
    return {**_BASE, **found} == _BASE
