"""Brings live settings to the running server, and reads them back.

Owns: the order of notes and commands, so that nothing that was set is forgotten. Refuses to know: what is wanted, and
what must change for it (live_settings.py).

The caller has the node's turn. The fence is not among live settings: it is the licence's (fence.py).
"""

from collections.abc import Mapping

import structlog

from valkey_operator.agent.live_settings import Configured, changes_for, configured_by_order, under_way
from valkey_operator.agent.node import Node
from valkey_operator.agent.server import ServerError
from valkey_operator.agent.watch import ProcessId
from valkey_operator.valkey.states import Health

log = structlog.get_logger(__name__)

# Switching the append-only file on forks, which takes its time on a large server; the operator waits 3 s.
SET_WITHIN_S = 2.5
_APPEND_ONLY = "appendonly"


async def bring_settings(node: Node, process: ProcessId, wanted: Mapping[str, str]) -> dict[str, str]:
    """Let the server have these and no other live settings; what it says of them. Raises ServerError, NoDefaultError.

    It takes all of them, or none.
    """
    before = node.configured_of(process)
    changes = changes_for(before, wanted)
    has = await _read(node, _APPEND_ONLY)
    # On file first: an agent that dies now leaves word of what may be set.
    node.keep_configured(under_way(before, wanted))
    await _set(node, before, changes)
    node.keep_configured(configured_by_order(before, wanted))
    if has[_APPEND_ONLY] == "yes" and changes.get(_APPEND_ONLY) == "no" and wanted.get("save"):
        await _save(node)
    return await _read(node, *sorted(wanted))


async def _set(node: Node, before: Configured, changes: Mapping[str, str]) -> None:
    pairs = [word for pair in sorted(changes.items()) for word in pair]
    try:
        if pairs:
            await node.connection.call("CONFIG", "SET", *pairs, timeout_s=SET_WITHIN_S)
    except ServerError as error:
        if error.health is Health.REFUSES:
            node.keep_configured(before)  # a refused command has changed nothing
        raise
    log.info("configured the server", directives=sorted(changes))


async def _save(node: Node) -> None:
    """Begin a snapshot: what is on disk is an append-only file, which nobody reads any more, and one of long ago."""
    try:
        await node.connection.call("BGSAVE", "SCHEDULE")
    except ServerError as error:
        log.warning("no snapshot in place of the append-only file", reason=str(error))


async def _read(node: Node, *names: str) -> dict[str, str]:
    reply = await node.connection.call("CONFIG", "GET", *names) if names else []
    return dict(zip(reply[::2], reply[1::2], strict=True))
