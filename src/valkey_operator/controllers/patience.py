"""How often something that is on its way is looked at: soon at first, more and more seldom, and then no more.

Owns: the pauses. What others tell by themselves brings a look at once, so that these only make it quicker.
Refuses to know: what is waited for.
"""

from valkey_operator.kube.objects import Key

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
MOST_LOOKS = 6
_MOST_DOUBLINGS = 10


class Patience:
    """Of one term, by key."""

    def __init__(self) -> None:
        self._looks: dict[Key, int] = {}

    def is_waiting(self, key: Key) -> bool:
        """Whether something was on its way at the last look."""
        return key in self._looks

    def next_look_s(self, key: Key, *, acted: bool, waits: bool, failed: bool = False) -> float | None:
        """When to look again though nothing was told; None: not before something is. What failed is always retried."""
        looks = 0 if acted else self._looks.get(key, 0)
        if not (failed or (waits and looks < MOST_LOOKS)):
            self._looks.pop(key, None)
            return None
        self._looks[key] = looks + 1
        return float(min(FIRST_PAUSE_S * 2 ** min(looks, _MOST_DOUBLINGS), LONGEST_PAUSE_S))

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._looks.pop(key, None)
