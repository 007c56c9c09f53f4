"""What clients saw during one run, as values: writes, reads, and what the status said meanwhile.

Times are those of this machine's wall clock, which clients and servers share, in seconds.
"""

import enum
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple


class Outcome(enum.Enum):
    """What became of a write, as far as its client knows."""

    ACCEPTED = "accepted"
    CONFIRMED = "confirmed"
    """Accepted, and `WAIT 1` said that a replica has it."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """No answer: it may be there or not."""


class Way(enum.StrEnum):
    """How a client finds the primary."""

    SERVICE = "service"
    PODS = "pods"
    """It knows every pod's address, and asks for the role."""


class Write(NamedTuple):
    """One write. It took effect between `effect_s` and `done_s`, if it did."""

    number: int
    sent_s: float
    effect_s: float
    """The server's own time right before it, or when it was sent."""
    done_s: float
    outcome: Outcome
    server: str = ""
    """The run id of the process that answered."""
    slot: int = 0
    """Of the key; each has one primary at a time. A Valkey that is no cluster has one for all."""

    @property
    def is_accepted(self) -> bool:
        return self.outcome in (Outcome.ACCEPTED, Outcome.CONFIRMED)


class Read(NamedTuple):
    """One read of the number that a writer wrote last."""

    sent_s: float
    done_s: float
    value: int
    slot: int = 0


class StatusSeen(NamedTuple):
    """What the Valkey's status said from a moment on."""

    at_s: float
    state: str
    primary: str
    """A node; of a cluster one for each shard, as `0=cart-0-1 1= 2=cart-2-0`."""


@dataclass
class WriterLog:
    """Everything one writer did, in order."""

    way: str
    waits: bool
    slot: int = 0
    writes: list[Write] = field(default_factory=list)
    accepted: int = 0
    """Of these, as far as they are counted while it writes."""
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"{self.way}-wait" if self.waits else self.way


@dataclass(frozen=True)
class History:
    """One run as its clients saw it."""

    writers: tuple[WriterLog, ...]
    probes: tuple[Write, ...]
    """Writes to every pod at its own address, which only its present primary should accept."""
    reads: tuple[Read, ...]
    statuses: tuple[StatusSeen, ...]
    stall_s: float = 0.0
    """The longest time for which the clients themselves did not get to run."""

    def written(self) -> dict[int, list[Write]]:
        """What writers did, by the slot of their key."""
        found: dict[int, list[Write]] = defaultdict(list)
        for log in self.writers:
            found[log.slot] += log.writes
        return found

    def accepted(self) -> list[Write]:
        """What any server accepted from anybody."""
        written = (write for log in self.writers for write in log.writes)
        return [write for write in (*written, *self.probes) if write.is_accepted]
