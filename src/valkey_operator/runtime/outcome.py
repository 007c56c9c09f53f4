"""How a reconcile can end, and what each end means for its key.

Owns: the words for it, and the one place where an exception is judged. Refuses to know: queues and workers.
"""

import enum

import msgspec

from valkey_operator.kube.errors import ApiError, ConflictError, InvalidError


class Result(msgspec.Struct, frozen=True):
    """It went well; `wake_at` is the loop time at which to look again though nothing changes, if there is one."""

    wake_at: float | None = None


DONE = Result()


class TransientError(Exception):
    """It cannot be done now; the same may go well later, but not before `retry_after_s` if that is given."""

    def __init__(self, reason: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class TerminalError(Exception):
    """It cannot be done until somebody changes something that we watch."""


class NotLeaderError(Exception):
    """We do not lead, or not any more: the work is another process's."""


class Verdict(enum.Enum):
    """What to do with a key whose reconcile failed; the value names it in metrics."""

    RETRY_AT_ONCE = "conflict"
    RETRY_LATER = "transient"
    WAIT_FOR_CHANGE = "terminal"
    DROP = "not_leader"
    DEFECT = "defect"


class Judgement(msgspec.Struct, frozen=True):
    """A verdict, and for how long at least to wait."""

    verdict: Verdict
    least_s: float = 0.0


def judge(error: Exception) -> Judgement:
    """What an exception out of a reconcile means."""
    match error:
        case NotLeaderError():
            return Judgement(Verdict.DROP)
        case TerminalError() | InvalidError():
            return Judgement(Verdict.WAIT_FOR_CHANGE)
        case ConflictError():
            return Judgement(Verdict.RETRY_AT_ONCE)
        case TransientError() | ApiError():
            return Judgement(Verdict.RETRY_LATER, error.retry_after_s or 0.0)
        case TimeoutError():
            return Judgement(Verdict.RETRY_LATER)
        case _:
            return Judgement(Verdict.DEFECT)
