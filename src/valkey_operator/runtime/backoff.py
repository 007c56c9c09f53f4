"""How long to wait between attempts.

Owns: the shape of the delays. Refuses to know: what is being attempted, and how waiting is done.
"""

from collections.abc import Iterator
from random import Random


def backoff_delays(random: Random, *, first_s: float = 0.25, most_s: float = 15.0) -> Iterator[float]:
    """Yield delays without end that double from `first_s` up to `most_s`, each spread over its upper half.

    The spread keeps many programs that lost the same server from coming back at the same moment.
    """
    delay_s = first_s
    while True:
        yield delay_s * random.uniform(0.5, 1.0)
        delay_s = min(delay_s * 2, most_s)
