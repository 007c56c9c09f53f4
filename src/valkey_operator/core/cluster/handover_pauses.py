"""Handovers that came to nothing: how often in a row, and when the next one is due.

Owns: the pauses, which grow; and for how long they are remembered. After one that went well another node is primary,
so the next begins anew; so does one that is wished for another reason. Refuses to know: who hands over to whom
(handover.py), and whether an order may still take effect (failover.py).
"""

from datetime import timedelta

from valkey_operator.core.cluster.facts import Attempt, FailoverKind
from valkey_operator.core.cluster.roles import Cluster

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
LONGEST_URGENT_PAUSE_S = 20.0
"""Of a pod that is being stopped: it ends after its grace period, so each try may be the last."""
_MOST_DOUBLINGS = 10


def failed_handover(cluster: Cluster, shard: int, *, source: str, why: str) -> Attempt | None:
    """The last handover of that node for that reason; whoever still wishes for it knows that nothing came of it."""
    found = (each for each in cluster.facts.record.attempts if each.shard == shard)
    same = (each for each in found if each.kind is FailoverKind.PLANNED and (each.source, each.why) == (source, why))
    return next(same, None)


def pause_after(attempt: Attempt, *, urgent: bool = False) -> timedelta:
    """From one to the next: twice as long with each that failed."""
    longest = LONGEST_URGENT_PAUSE_S if urgent else LONGEST_PAUSE_S
    return timedelta(seconds=min(longest, FIRST_PAUSE_S * 2 ** min(attempt.tries - 1, _MOST_DOUBLINGS)))


def may_be_repeated(cluster: Cluster, attempt: Attempt) -> bool:
    """Whether it has to be remembered: if nobody has tried again long after the pause, nobody wishes for it."""
    is_planned = attempt.kind is FailoverKind.PLANNED
    return is_planned and cluster.facts.now - attempt.at < 2 * pause_after(attempt)
