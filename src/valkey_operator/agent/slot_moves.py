"""Keys of open slots on their way from the server beside us to another one, in bounded portions.

Owns: how many keys go in one command, how long a server may be held by one, and when to stop. Refuses to know: which
slots move where, and what becomes of them afterwards (cluster_orders.py).

MIGRATE holds the source while it runs, so a portion grows only as long as it takes a moment. A key stays with the
source until the target has confirmed it, and until then clients write to the source alone: what was sent twice is
replaced.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from valkey_operator.agent.server import ServerConnection, Words
from valkey_operator.valkey.boot import Address

FIRST_PORTION = 32
MOST_PORTION = 1024
# Clients of the source wait so long for one portion.
PORTION_S = 0.01
# The server gives a target up by itself, and says so.
_MARGIN_S = 0.2


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where keys go, and how the source logs in there; without a word for `idle_ms` the target is given up."""

    target: Address
    user: str
    password: str | None
    idle_ms: int


def next_portion(portion: int, sent: int, took_s: float) -> int:
    """How many keys to send next, after so many of a portion took so long."""
    if took_s > 2 * PORTION_S:
        return max(1, min(portion, sent) // 2)
    # A slot with few keys says nothing about many.
    return min(MOST_PORTION, portion * 2) if took_s < PORTION_S / 2 and sent == portion else portion


async def move_keys(
    connection: ServerConnection, slots: Iterable[int], route: Route, *, until: float, end_by: float
) -> None:
    """Move the keys of these slots: no portion but the first begins after `until`, none lasts beyond `end_by`.

    Both are times of the event loop; what is left then is for the next order. Raises ServerError. The connection is a
    binary one of its own: keys are not always text, and nobody should wait behind a portion.
    """
    clock = asyncio.get_running_loop().time
    portion = FIRST_PORTION
    for slot in slots:
        keys = await connection.call(*_keys_of(slot, portion), timeout_s=end_by - clock())
        while keys:
            begun = clock()
            left_s = end_by - begun
            both = [_migrate(route, keys, left_s - _MARGIN_S), _keys_of(slot, portion)]
            sent = len(keys)
            _, keys = await connection.call_each(both, timeout_s=left_s)
            portion = next_portion(portion, sent, clock() - begun)
            if clock() >= until:
                return


def _keys_of(slot: int, count: int) -> Words:
    return ("CLUSTER", "GETKEYSINSLOT", slot, count)


def _migrate(route: Route, keys: Sequence[bytes], within_s: float) -> Words:
    idle_ms = max(1, min(route.idle_ms, int(within_s * 1000)))
    login = () if route.password is None else ("AUTH2", route.user, route.password)
    where = (route.target.host, route.target.port, "", 0, idle_ms)
    return ("MIGRATE", *where, "REPLACE", *login, "KEYS", *keys)
