"""The terms on which a server takes writes: whose leave it needs, and how long that lasts.

Owns: the value that operator and agent agree on. Refuses to know: how leave is asked for or given.
"""

import msgspec

Sets = tuple[tuple[str, ...], ...]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Of one server in one epoch. Without members of any set nobody could take over, and no leave is needed."""

    sets: Sets = ()
    """Of whom it needs half, of each set: the replicas that could take over; in a cluster the witnesses beside it."""
    fence_after_ms: int = 0
    """How long leave lasts; 0: none is needed."""
    missed_after_ms: int = 3000
    """The silence after which its replicas miss it; longer than any leave lasts."""
    least_replicas: int = 0
    """Without how many attached replicas its server refuses writes by itself."""
    elected: bool = False
    """The servers elect their primaries: a replica needs leave as well, for without it none may be elected."""
