"""What the model claims of servers, beside what the real ones say, and where that differs.

Owns: which claims are compared, and how. Refuses to know: how either came to be.

A history of the model is a name, and so is a replication id: each name must stand for one of the other kind, always.
Offsets count other things, so only their order is compared, and only within one history.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.sim.shard_events import Claim
from valkey_operator.valkey.info import Role


@dataclass(frozen=True)
class Seen:
    """What a real server says."""

    role: Role
    linked: bool
    whole: bool
    values: frozenset[int]
    replication_id: str
    former_id: str | None
    offset: int


@dataclass
class Histories:
    """Which replication id each history of the model has turned out to be."""

    ids: dict[str, str] = field(default_factory=dict)

    def differ(self, history: str, replication_id: str) -> bool:
        if history in self.ids:
            return self.ids[history] != replication_id
        return replication_id in self.ids.values()

    def differ_as_former(self, history: str | None, former_id: str | None) -> bool:
        """One that nobody had while it was looked at has no counterpart, and may be none."""
        known = None if history is None else self.ids.get(history)
        return former_id != known if known else former_id in self.ids.values()

    def keep(self, claims: Mapping[str, Claim], seen: Mapping[str, Seen]) -> None:
        for node in seen:
            self.ids[claims[node].history] = seen[node].replication_id


def find_differences(claims: Mapping[str, Claim], seen: Mapping[str, Seen], histories: Histories) -> list[str]:
    """As sentences; of servers that hang nothing is seen."""
    found = [
        f"{node}: {what}"
        for node, claim in claims.items()
        if node in seen
        for what in _differences(claim, seen[node], histories)
    ]
    return [*found, *_differences_of_pairs(claims, seen)]


def _differences(claim: Claim, seen: Seen, histories: Histories) -> Iterator[str]:
    for name in ("role", "linked", "whole"):
        if getattr(claim, name) != getattr(seen, name):
            yield f"{name} is {getattr(seen, name)}, and the model says {getattr(claim, name)}"
    if frozenset(claim.values) != seen.values:
        more, less = sorted(seen.values - set(claim.values)), sorted(set(claim.values) - seen.values)
        yield f"it has {more} and lacks {less}, against the model"
    if histories.differ(claim.history, seen.replication_id):
        was = histories.ids.get(claim.history, "a new one")
        yield f"its replication id is {seen.replication_id}, and the model's {claim.history} was {was}"
    if histories.differ_as_former(claim.former, seen.former_id):
        yield f"its former replication id is {seen.former_id}, and the model says {claim.former}"


def _differences_of_pairs(claims: Mapping[str, Claim], seen: Mapping[str, Seen]) -> Iterator[str]:
    for one in seen:
        for other in seen:
            claim, against = claims[one], claims[other]
            if one < other and claim.history == against.history:
                real = _order(seen[one].offset, seen[other].offset)
                if real != _order(claim.offset, against.offset):
                    yield f"the offset of {one} is {real} that of {other}, against the model"


def _order(one: int, other: int) -> str:
    return "below" if one < other else "above" if one > other else "equal to"
