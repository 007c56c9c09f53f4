"""Whether the data set in memory is a whole one: a primary's own, or a replica's that was in sync once.

Owns: that judgement. It is about one process: whoever restarts begins anew, whatever was loaded from disk. A replica
whose link is down keeps it: it has all that its primary had sent until then. Loading a copy from its primary replaces
what it had, so from then on it has nothing until the link is up. A node of a cluster is a primary without slots before
it follows anybody: what that has is no data set.
"""

from valkey_operator.agent.probes import check_ready
from valkey_operator.agent.report import Facts
from valkey_operator.agent.watch import ProcessId
from valkey_operator.valkey.states import Health


def whole_after(facts: Facts) -> ProcessId | None:
    """The process that is known to have a whole data set, after the server was asked."""
    if facts.server is None:
        return facts.whole
    if facts.server.health is Health.LOADING or facts.server.is_spare:
        return None
    return facts.process.process if check_ready(facts) is None else facts.whole


def is_whole(facts: Facts) -> bool:
    """Whether the present process is that one."""
    return facts.whole is not None and facts.whole == facts.process.process
