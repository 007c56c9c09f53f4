"""Who leads, decided over a lease that everybody can read and swap.

A leader may act until `renew_deadline_s` after it *sent* its last successful renewal. Another takes over only when it
has seen the lease unchanged for the whole `duration_s` since it *received* it. Sending comes before receiving, and the
deadline is shorter than the duration, so no two lead at once, whatever the wall clocks say: each candidate measures
only lengths of time, and only on its own clock.
Owns: those rules, one attempt at a time. Refuses to know: threads, sleeping, HTTP.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from valkey_operator.kube.errors import ConflictError, NotFoundError

_UNKNOWN = "(deleted by hand)"


class Timing(msgspec.Struct, frozen=True):
    """Lengths of an election; `renew_deadline_s` has to be well below `duration_s`."""

    duration_s: float = 6.0
    renew_deadline_s: float = 4.0
    retry_s: float = 1.0


class Lease(msgspec.Struct, frozen=True):
    """The lease as the API server has it; no `holder`: it is free, no `version`: it does not exist yet."""

    holder: str
    duration_s: float
    term: int
    version: str = ""


class LeaseStore(Protocol):
    """Where the lease is kept; failures are `ApiError`s."""

    def read(self) -> Lease | None:
        """The lease, if there is one."""

    def write(self, lease: Lease) -> Lease:
        """Create it or swap its version; `ConflictError` if somebody was faster."""
        ...


class Tenure(msgspec.Struct, frozen=True):
    """A right to act: in this term, until this time on our own clock if nothing is renewed."""

    term: int
    valid_until: float


class Candidate:
    """One who wants to lead. One thread calls `attempt` about every `retry_s`; any thread may ask for the tenure."""

    def __init__(self, store: LeaseStore, identity: str, timing: Timing, clock: Callable[[], float]) -> None:
        self._store = store
        self._identity = identity
        self._timing = timing
        self._clock = clock
        self._seen: Lease | None = None
        self._seen_at = 0.0
        # Replaced as a whole: another thread never sees the term of one tenure with the end of another.
        self._tenure: Tenure | None = None

    @property
    def tenure(self) -> Tenure | None:
        """Our tenure while it lasts. Each one, also the next of the same process, has a higher term."""
        tenure = self._tenure
        return tenure if tenure is not None and self._clock() < tenure.valid_until else None

    @property
    def other_holder(self) -> str | None:
        """Who else holds the lease, as last seen."""
        seen = self._seen
        return seen.holder if seen is not None and seen.holder not in {"", self._identity} else None

    @property
    def free_in_s(self) -> float:
        """How long until the lease, as last seen, may be taken; the right moment for an attempt, if it is soon."""
        if self._seen is None or self._seen.holder in {"", self._identity}:
            return 0.0
        return self._seen_at + self._seen.duration_s - self._clock()

    def attempt(self) -> None:
        """Renew or take the lease if that is ours to do; raises `ApiError` where the API server does not play along."""
        tenure = self._tenure = self.tenure
        if tenure is None:
            self._take_if_free()
        else:
            self._renew(tenure.term)

    def release(self) -> None:
        """Give the lease away if we hold it, so that nobody has to wait for its end."""
        held = self._seen if self.tenure is not None else None
        self._tenure = None
        if held is not None:
            self._store.write(msgspec.structs.replace(held, holder="", duration_s=1.0))

    def _renew(self, term: int) -> None:
        sent_at = self._clock()
        try:
            self._write(Lease(self._identity, self._timing.duration_s, term, self._seen.version if self._seen else ""))
        except NotFoundError:  # deleted by hand: it is still our term
            self._write(Lease(self._identity, self._timing.duration_s, term))
        except ConflictError:
            self._renew_what_is_still_ours(term)
        self._tenure = Tenure(term, sent_at + self._timing.renew_deadline_s)

    def _renew_what_is_still_ours(self, term: int) -> None:
        """A conflict is a renewal whose answer was lost, an edit by hand, or somebody who took over."""
        found = self._store.read()
        if found is None or found.holder != self._identity or found.term != term:
            self._tenure = None
            raise ConflictError(f"the lease was taken by {found.holder if found else 'nobody'}")
        self._write(msgspec.structs.replace(found, duration_s=self._timing.duration_s))

    def _take_if_free(self) -> None:
        self._note(self._store.read())
        known = self._seen or Lease("", 0.0, 0)
        if self.free_in_s > 0:
            return
        sent_at = self._clock()
        self._write(Lease(self._identity, self._timing.duration_s, known.term + 1, known.version))
        self._tenure = Tenure(known.term + 1, sent_at + self._timing.renew_deadline_s)

    def _write(self, lease: Lease) -> None:
        self._note(self._store.write(lease))

    def _note(self, found: Lease | None) -> None:
        if found is None and self._seen is not None:
            # Deleted by hand: whoever holds it may not know yet, and the next term must still be a higher one.
            found = Lease(_UNKNOWN, self._timing.duration_s, self._seen.term)
        if found is None or self._seen is None or found.version != self._seen.version:
            self._seen_at = self._clock()
        self._seen = found
