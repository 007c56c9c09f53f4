"""Show long work while it goes on: what is being done, how far it is, how long it took."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

REPEAT_EVERY_S = 15


class Progress:
    """One line per piece of work on a terminal, a line now and then in a log file."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._said_at = 0.0
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._clear()
            print(f"{self._elapsed():>7}  {text}", file=sys.stderr, flush=True)
            self._said_at = time.monotonic()

    def update(self, text: str) -> None:
        """How far the current work is: overwritten on a terminal, thinned out in a log."""
        with self._lock:
            if sys.stderr.isatty():
                self._clear()
                print(f"{self._elapsed():>7}  {text[:110]}", file=sys.stderr, end="", flush=True)
            elif time.monotonic() - self._said_at > REPEAT_EVERY_S:
                print(f"{self._elapsed():>7}  {text}", file=sys.stderr, flush=True)
                self._said_at = time.monotonic()

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        begun = time.monotonic()
        self.update(f"{text} …")
        yield
        self.say(f"{text} ({time.monotonic() - begun:.1f} s)")

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._started:.1f} s"

    @staticmethod
    def _clear() -> None:
        if sys.stderr.isatty():
            print("\r\033[K", file=sys.stderr, end="")
