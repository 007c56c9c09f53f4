"""Servers of the model: what they hold, how one copies from another, when one refuses writes. As Valkey does.

Owns: processes, their histories and offsets, resyncs, the copy on disk. A server holds numbers; each acknowledged write
is one. Refuses to know: who reaches whom, who shall follow whom, and what of it must not be lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from valkey_operator.valkey.info import Role

LAG_LASTS = 2.0
"""How long a replica that says nothing more still counts as one that is attached."""


class BrokenRuleError(AssertionError):
    """Something happened that must never happen."""


@dataclass(eq=False)
class Disk:
    """A copy of the data, with its mark; `binding` where the primary was stopped on purpose and nobody took over."""

    values: tuple[int, ...]
    offset: int
    history: str
    epoch: int
    was_primary: bool
    binding: bool = False


@dataclass(eq=False)
class Server:
    """A process; without a role it stands at the gate. `follows` None: parked, or a primary."""

    run: int
    role: Role | None = None
    values: tuple[int, ...] = ()
    offset: int = 0
    history: str = ""
    former: str | None = None
    former_below: int = 0
    follows: str | None = None
    source: "Server | None" = None
    """The very process that it is attached to, which may be one of a pod that is gone."""
    whole: bool = False
    hung: bool = False
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
        self.role, self.follows = role, follows
        if role is Role.PRIMARY:
            self.whole = True

    def load(self, disk: Disk | None, history: str, *, with_offset: bool) -> None:
        """What a start reads; without an offset on disk it begins to count anew."""
        self.history = history
        if disk is not None:
            self.values = disk.values
        if disk is not None and with_offset:
            self.offset, self.history = disk.offset, disk.history


def attach(name: str, server: Server, source: Server, tell: Callable[[str], None]) -> bool:
    """PSYNC; whether that changed the history of who follows. A replica without a link serves nobody."""
    if not (source.is_primary or source.linked) or source.hung:
        return False
    same = server.history == source.history and server.offset <= source.offset
    continued = server.history == source.former and server.offset <= source.former_below
    partial = same or continued
    if partial and source.values[: len(server.values)] != server.values:
        raise BrokenRuleError(f"{name} resyncs partially with data that are not of that history")
    changed = server.history != source.history
    if not partial:
        server.values, server.offset = source.values, source.offset
        server.former, server.former_below = None, 0
    elif changed:
        server.former, server.former_below = server.history, server.offset
    server.history, server.source, server.whole = source.history, source, True
    tell(f"{name} resyncs {'partially' if partial else 'fully'} at {server.offset}")
    return changed


def copy(server: Server, now: float, most: int | None) -> None:
    """Take over what the source has more; `most` values, or all."""
    source = server.source
    if source is None or source.hung or server.hung:
        return
    taken = source.values[len(server.values) :][:most]
    server.values += taken
    server.offset += len(taken)
    source.acks[server.run] = now
