"""The parts of a reconcile: each is done as far as it goes, and what came of all of them is one end.

Owns: what the ends of the parts mean together, and when a key is looked at again. Refuses to know: what the parts do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from valkey_operator.controllers.valkey_case import End
from valkey_operator.kube.errors import ForbiddenError, InvalidError
from valkey_operator.runtime.outcome import DONE, Result, TransientError

RECHECK_S = 5.0

AnyCase = TypeVar("AnyCase")


class CaseLike(Protocol):
    """What was found on the way that only a change of somebody else's can mend."""

    @property
    def refused(self) -> Sequence[Any]:
        """What a running server does not take."""
        ...

    @property
    def conflicts(self) -> Sequence[str]:
        """What is needed and belongs to somebody else."""
        ...


async def attempt(case: AnyCase, part: Callable[[AnyCase], Awaitable[End]]) -> End:
    """Do one part as far as it goes: neither a bad spec nor a silent server keeps the other from being done."""
    try:
        return await part(case)
    except (InvalidError, ForbiddenError) as problem:
        return End(refused=str(problem))
    except TransientError as problem:
        return End(retry=problem)


def together(ends: Sequence[End]) -> End:
    """Of each word the first, and the earliest look."""
    return End(
        waits_for=next((end.waits_for for end in ends if end.waits_for), None),
        look_after_s=min((end.look_after_s for end in ends if end.look_after_s is not None), default=None),
        refused=next((end.refused for end in ends if end.refused), None),
        retry=next((end.retry for end in ends if end.retry), None),
    )


def result(case: CaseLike, end: End) -> Result:
    """When to look again, though nothing changes; raises what is to be tried again."""
    if end.retry is not None:
        raise end.retry
    # What is missing is watched; an object of others that has a name of ours is in no cache.
    held = [RECHECK_S] if case.conflicts or case.refused or end.refused else []
    waits = [*held, *([] if end.look_after_s is None else [end.look_after_s])]
    return Result(wake_at=asyncio.get_running_loop().time() + min(waits)) if waits else DONE
