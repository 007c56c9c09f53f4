"""What is told of servers that cannot write to their disk.

Owns: the words, for a person who is called at night. Refuses to know: how the error was found.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from valkey_operator.core.names import claim_name
from valkey_operator.core.node_view import NodeView
from valkey_operator.valkey.states import DiskError

_FAILED = {
    DiskError.SNAPSHOT: "cannot save its snapshot (rdb_last_bgsave_status is err)",
    DiskError.AOF: "cannot write its append-only file (aof_last_write_status is err)",
}


class Reported(Protocol):
    """A node with its last report."""

    @property
    def name(self) -> str:
        """Of the node."""

    @property
    def view(self) -> NodeView | None:
        """None: nothing was heard of it."""


Node = TypeVar("Node", bound=Reported)


def with_disk_error(members: Sequence[Node]) -> list[Node]:
    """Those whose server cannot write to its disk."""
    return [member for member in members if member.view is not None and member.view.disk_error is not None]


def describe_disk_errors(members: Sequence[Reported], *, primaries: Collection[str], has_volume: bool) -> str:
    """Which nodes, what their servers say, what to do."""
    names = [member.name for member in members]
    said = " ".join(_sentence(member, is_primary=member.name in primaries) for member in members)
    logs = f"kubectl logs --selector='valkey.io/node in ({','.join(names)})' --container=valkey"
    return f"{said} {_remedy(names, has_volume=has_volume)} If that is not it, the server says what is: {logs}"


def _sentence(member: Reported, *, is_primary: bool) -> str:
    failed = _FAILED[member.view.disk_error] if member.view and member.view.disk_error else ""
    follows = "and refuses all writes (MISCONF)" if is_primary else "and would refuse all writes as primary"
    return f"The server of {member.name} {failed}, {follows}."


def _remedy(names: Sequence[str], *, has_volume: bool) -> str:
    if not has_volume:
        return "Most often the disk of its machine is full: free space there, and it goes on by itself in seconds."
    claims = ", ".join(claim_name(name) for name in names)
    return (
        f"Most often the volume is full ({claims}): raise spec.persistence.size, or free space on it, and it goes on "
        "by itself in seconds."
    )
