"""How often something may happen.

Owns: the arithmetic of a token bucket. Refuses to know: what happens, and how waiting is done.
"""


class TokenBucket:
    """`burst` at once, then `per_s` on average; times are handed in."""

    def __init__(self, *, burst: float, per_s: float, now: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._tokens = burst
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._refill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self, now: float) -> float:
        """Take a token in any case; how long to wait until it is there."""
        self._refill(now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._per_s)

    def _refill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
