"""The terms on which a primary writes: whose leave it needs, and how long that lasts.

Owns: the value that operator and agent agree on. Refuses to know: how leave is asked for or given.
"""

import msgspec

Sets = tuple[tuple[str, ...], ...]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Of one primary in one epoch. Without members of any set nobody could take over, and no leave is needed."""

    sets: Sets = ()
    """The replicas that could take over, of which it needs half; of each set, while the list changes."""
    fence_after_ms: int = 0
    """How long leave lasts; 0: none is needed."""
    missed_after_ms: int = 3000
    """The silence after which its replicas miss it; longer than any leave lasts."""
    least_replicas: int = 0
    """Without how many attached replicas its server refuses writes by itself."""
