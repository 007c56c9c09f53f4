"""A server that could not write its snapshot is asked for another one, until it could.

Owns: when it is asked, and how often. Refuses to know: how the error is found (server.py), and who is told.

After a snapshot that failed a server refuses every write. It tries again by itself only once a save point is due, and
writes that are refused never make one due: it would refuse them for ever. An append-only file that could not be written
it tries again every second, so that needs nobody.
"""

import structlog

from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerError
from valkey_operator.valkey.states import DiskError

log = structlog.get_logger(__name__)

# The pause of the server itself between two attempts while a save point is due.
AGAIN_AFTER_S = 5.0


async def save_again(node: Node) -> None:
    """Ask for a snapshot while the last one failed and writes are refused for it; for ever."""
    while True:
        await node.wait_for(lambda report: disk_error(report.facts) is not None)
        log.warning("the server cannot write to its disk", what=disk_error(node.report.facts))
        while not await node.wait_for(lambda report: disk_error(report.facts) is None, within_s=AGAIN_AFTER_S):
            if disk_error(node.report.facts) is DiskError.SNAPSHOT:
                await _ask(node)
        log.info("the server's disk error is over")


def disk_error(facts: Facts) -> DiskError | None:
    """What the server could not write."""
    return facts.server.disk_error if facts.server is not None else None


async def _ask(node: Node) -> None:
    try:
        # After a rewrite of the append-only file, where one is under way.
        await node.connection.call("BGSAVE", "SCHEDULE")
    except ServerError as problem:
        # Most often the attempt before is not over.
        log.debug("no snapshot was begun", reason=str(problem))
