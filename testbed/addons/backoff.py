"""When to try again: delays that double per failure of the same thing, on a clock that the caller reads."""

from collections.abc import Collection

FIRST_S = 0.2
LONGEST_S = 30.0


def delay_s(failures: int, longest_s: float = LONGEST_S) -> float:
    """How long to wait after so many failures in a row."""
    return min(FIRST_S * 2.0 ** min(failures - 1, 16), longest_s)


class Backoff:
    """The failures in a row of each key, and when it may be tried again."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._failures: dict[str, int] = {}
        self._ready_at: dict[str, float] = {}

    def is_ready(self, key: str, now: float) -> bool:
        return self._ready_at.get(key, now) <= now

    def failed(self, key: str, now: float) -> float:
        """Note a failure and return the delay that follows it."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = delay_s(self._failures[key], self._longest_s)
        self._ready_at[key] = now + delay
        return delay

    def succeeded(self, key: str) -> None:
        self._failures.pop(key, None)
        self._ready_at.pop(key, None)

    def keep_only(self, keys: Collection[str]) -> None:
        """Forget what nobody wants to try any more."""
        for key in self._ready_at.keys() - set(keys):
            self.succeeded(key)

    def next_s(self, now: float, otherwise: float) -> float:
        """Seconds until the first waiting key is ready, at most `otherwise`."""
        return min([otherwise, *(max(at - now, 0.0) for at in self._ready_at.values())])
