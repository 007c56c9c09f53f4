"""The API server of the modelled cluster, with its record: who wrote last, and when it cannot be asked.

Owns: that a record is written over the very version that was seen, and what becomes of a write while the server is
away. Refuses to know: who writes (cluster_leader.py), and when it is away (cluster_api_faults.py).
"""

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from valkey_operator.core.cluster.facts import ClusterRecord


class NotWritten(Exception):  # noqa: N818 - an outcome
    """The record is another one by now, or nobody knows whether it was written: everything is looked at again later."""


@dataclass(frozen=True)
class Seen:
    """A record, and its version."""

    record: ClusterRecord = field(default_factory=ClusterRecord)
    version: int = 0


@dataclass
class Api:
    # What it must not do, and does where a test switches a rule off:
    writes_over_anything: ClassVar[bool] = False
    """Nobody has to have seen the version that is there."""

    chance: Random
    now: Seen = field(default_factory=Seen)
    former: Seen = field(default_factory=Seen)
    away_since: int | None = None
    back_at: int = 0

    @property
    def is_away(self) -> bool:
        return self.away_since is not None

    def come_back(self, tick: int) -> None:
        if tick >= self.back_at:
            self.away_since = None

    def swap(self, seen: Seen, record: ClusterRecord) -> Seen:
        """Write over what was seen. Away, it may hear of it all the same, and only the answer is lost."""
        if self.is_away and self.chance.random() < 0.5:
            raise NotWritten("the API server does not answer")
        if seen.version != self.now.version and not self.writes_over_anything:
            raise NotWritten("the record is another one by now")
        self.former, self.now = self.now, Seen(record, self.now.version + 1)
        if self.is_away:
            raise NotWritten("the API server has written it, and does not answer")
        return self.now

    def touch(self) -> None:
        """Somebody changes what is no business of ours."""
        self.former, self.now = self.now, Seen(self.now.record, self.now.version + 1)
