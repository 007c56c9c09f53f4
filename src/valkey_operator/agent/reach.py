"""Finds another node by its Service's name, and waits until its port is open.

Owns: names, attempts and their deadlines. Refuses to know: who is looked for, and why.
"""

import asyncio
import socket
from collections.abc import Callable

from valkey_operator.valkey.boot import Address

RESOLVE_WITHIN_S = 2.0
KNOCK_EVERY_S = 0.02
KNOCK_WITHIN_S = 1.0


async def resolve(host: str) -> str:
    """The first IP of a host's name; raises OSError, also where nobody answers in time."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(RESOLVE_WITHIN_S):
        infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(infos[0][4][0])


async def wait_for_port(address: Address, deadline: float, wanted: Callable[[], bool]) -> None:
    """Knock until somebody opens, the deadline has passed, or it is not wanted any more."""
    while wanted() and not await _accepts(address) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(KNOCK_EVERY_S)


async def _accepts(address: Address) -> bool:
    try:
        async with asyncio.timeout(KNOCK_WITHIN_S):
            _, writer = await asyncio.open_connection(address.host, address.port)
    except OSError:
        return False
    writer.transport.abort()
    return True
