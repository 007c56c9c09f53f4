"""Servers of the model: what they hold, how one copies from another, when one refuses writes. As Valkey does.

Owns: processes, their histories and offsets, resyncs, the copy on disk. A server holds numbers; each acknowledged write
is one. Refuses to know: who reaches whom, who shall follow whom, and what of it must not be lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from valkey_operator.valkey.info import Role

LAG_LASTS = 2.0
"""How long a replica that says nothing more still counts as one that is attached."""


class Ground(Protocol):
    """Where servers are."""

    def new_history(self) -> str: ...
    def tell(self, sentence: str) -> None: ...


class BrokenRuleError(AssertionError):
    """Something happened that must never happen."""


@dataclass(eq=False)
class Disk:
    """A copy of the data, with its mark; `binding` where the primary was stopped on purpose and nobody took over."""

    values: tuple[int, ...]
    ends: tuple[int, ...]
    offset: int
    history: str | None
    """None: it was saved by a server without a backlog, which writes no history and no offset."""
    epoch: int
    was_primary: bool
    binding: bool = False


@dataclass(eq=False)
class Server:
    """A process; without a role it stands at the gate. `follows` None: parked, or a primary."""

    run: int
    role: Role | None = None
    values: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    """The offset after each of the values: what keeps links alive moves offsets, too."""
    offset: int = 0
    history: str = ""
    former: str | None = None
    former_below: int = 0
    backlog: int | None = None
    """The offset from which on it can continue the copies of others; None: it never copied, and nobody from it."""
    follows: str | None = None
    source: "Server | None" = None
    """The very process that it is attached to, which may be one of a pod that is gone."""
    partially: bool = False
    """Whether its last resync was a partial one."""
    whole: bool = False
    hung: bool = False
    late: list[Callable[[], None]] = field(default_factory=list)
    """What it was told while it hung, and does when it wakes, though nobody waits for it any more."""
    least: int = 0
    """Without how many attached replicas it refuses writes."""
    acks: dict[int, float] = field(default_factory=dict)
    """When a replica was heard of last, by its run; one that hangs up is forgotten at once."""

    @property
    def is_primary(self) -> bool:
        return self.role is Role.PRIMARY

    @property
    def linked(self) -> bool:
        return self.source is not None

    def attached(self, now: float) -> int:
        """The replicas that it counts, and that a client's WAIT could count."""
        return sum(at > now - LAG_LASTS for at in self.acks.values())

    def hang_up(self, *, told: bool = True) -> None:
        """Leave the source; one that is not reached does not hear of it."""
        if self.source is not None and told:
            self.source.acks.pop(self.run, None)
        self.source = None

    def begin_history(self, history: str) -> None:
        self.former, self.former_below = self.history, self.offset
        self.history = history

    def become(self, role: Role, follows: str | None) -> None:
        self.hang_up()
        if self.is_primary and role is Role.REPLICA:
            self._keep_backlog()
        self.role, self.follows = role, follows
        if role is Role.PRIMARY:
            self.whole = True

    def load(self, disk: Disk | None, history: str, *, with_offset: bool) -> None:
        """What a start reads; without an offset on disk it begins to count anew."""
        self.history = history
        if disk is not None:
            self.values, self.ends = disk.values, (0,) * len(disk.values)
        if disk is not None and disk.history is not None and with_offset:
            self.offset, self.ends, self.history = disk.offset, disk.ends, disk.history
            self._keep_backlog()

    def take(self, values: tuple[int, ...], *, counts_alone: bool) -> None:
        """Writes; whoever has no backlog counts only for its append-only file."""
        step = int(self.backlog is not None or counts_alone)
        self.values += values
        self.ends += tuple(self.offset + step * count for count in range(1, len(values) + 1))
        self.offset += step * len(values)

    def keep_alive(self) -> None:
        """What a primary sends to its replicas now and then, and Valkey 9.1 after every full resync."""
        self.offset += 1

    def can_continue(self, other: "Server") -> bool:
        """Whether all that the other one lacks is in the backlog."""
        same = other.history == self.history and other.offset <= self.offset
        continued = other.history == self.former and other.offset <= self.former_below
        return self.backlog is not None and self.backlog <= other.offset and (same or continued)

    def serve_first(self, history: str) -> None:
        """The first one that copies from it: what was before has no history."""
        if self.backlog is None:
            self.history, self.former, self.former_below = history, None, 0
            self._keep_backlog()

    def _keep_backlog(self) -> None:
        """From now on, where it has none."""
        self.backlog = self.offset if self.backlog is None else self.backlog


def attach(name: str, server: Server, source: Server, ground: Ground) -> bool:
    """PSYNC; whether those who copy from the one that follows have to begin anew. Without a link it serves nobody."""
    if not (source.is_primary or source.linked) or source.hung:
        return False
    partial = source.can_continue(server)
    if partial and source.values[: len(server.values)] != server.values:
        raise BrokenRuleError(f"{name} resyncs partially with data that are not of that history")
    changed = server.history != source.history
    if not partial:
        source.serve_first(ground.new_history())
        server.values, server.ends = source.values, source.ends
        server.offset = server.backlog = source.offset
        server.former, server.former_below = None, 0
    elif changed:
        server.former, server.former_below = server.history, server.offset
    server.history, server.source, server.whole = source.history, source, True
    server.partially = partial
    ground.tell(f"{name} resyncs {'partially' if partial else 'fully'} at {server.offset}")
    return changed or not partial


def copy(server: Server, now: float, most: int | None) -> None:
    """Take over what the source has more; `most` values, or all."""
    source = server.source
    if source is None or source.hung or server.hung:
        return
    taken = source.values[len(server.values) :][:most]
    server.values += taken
    server.ends = source.ends[: len(server.values)]
    has_all = len(server.values) == len(source.values)
    server.offset = source.offset if has_all else max((server.offset, *server.ends[-1:]))
    source.acks[server.run] = now
