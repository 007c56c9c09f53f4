"""What may reach a server of the model, as values, and what is claimed of all of them after it.

Owns: the words of a trace. Refuses to know: who takes one down (shard_traces.py), and who replays it (tests/valkey).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from valkey_operator.valkey.info import Role


@dataclass(frozen=True)
class Event:
    """Something that a server does or suffers."""

    node: str


@dataclass(frozen=True)
class Opened(Event):
    """It passes its gate; `follows` None: parked, or a primary."""

    role: Role
    follows: str | None
    least: int


@dataclass(frozen=True)
class Told(Event):
    """To follow another one, or to be parked."""

    follows: str | None


@dataclass(frozen=True)
class Promoted(Event):
    least: int


@dataclass(frozen=True)
class Written(Event):
    """A client tried; no values: it was refused, or got no answer."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class Attached(Event):
    """It is let through to whom it follows, and resyncs."""

    source: str
    partially: bool


@dataclass(frozen=True)
class Copied(Event):
    """It got all values up to this one; `everything`: and all that came after it."""

    last: int | None
    everything: bool


@dataclass(frozen=True)
class KeptAlive(Event):
    """To a replica that has just resynced fully it sends what moves offsets, and is no value."""

    replica: str


@dataclass(frozen=True)
class Cut(Event):
    """Its link is broken on the way, and the other end does not hear of it."""


@dataclass(frozen=True)
class Saved(Event):
    pass


@dataclass(frozen=True)
class Ended(Event):
    """Without notice."""


@dataclass(frozen=True)
class Wiped(Event):
    """Its disk is empty."""


@dataclass(frozen=True)
class Hung(Event):
    pass


@dataclass(frozen=True)
class Woken(Event):
    pass


@dataclass(frozen=True)
class Bound(Event):
    """It refuses writes without so many replicas: the fence, and its end."""

    least: int


@dataclass(frozen=True)
class TurnedAway(Event):
    """It gets through to whom it follows, who has no link itself and serves nobody."""

    source: str


@dataclass(frozen=True)
class Claim:
    """What the model says of a server past its gate."""

    role: Role
    linked: bool
    whole: bool
    hung: bool
    values: tuple[int, ...]
    history: str
    former: str | None
    offset: int


@dataclass(frozen=True)
class Step:
    """An event, and the claims about every server past its gate; None where the next event is of the same moment."""

    event: Event
    claims: Mapping[str, Claim] | None
