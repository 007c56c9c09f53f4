"""What we want clients to see at most, with the default durability on a testbed. Pure."""

from typing import NamedTuple

SETTLED = "settled"
"""Not a way: until all was whole again."""


class Bar(NamedTuple):
    """For the longest time without an accepted write, of one way to the primary; or for the time until all is whole."""

    kind: str
    way: str
    median_ms: float | None = None
    max_ms: float | None = None

    def is_met(self, median_ms: float, max_ms: float) -> bool:
        return median_ms <= (self.median_ms or median_ms) and max_ms <= (self.max_ms or max_ms)


BARS: tuple[Bar, ...] = (
    Bar("kill-primary", "service", 500, 1500),
    Bar("kill-primary", "pods", 300),
    Bar("kill-primary-3gib", "service", max_ms=1500),
    Bar("force-delete-pod", "service", max_ms=2000),
    Bar("node-cut", "service", max_ms=6000),
    Bar("node-stop", "service", max_ms=6000),
    Bar("node-cut-with-leader", "service", max_ms=12_000),
    Bar("switchover", "pods", 30, 150),
    Bar("switchover", "service", max_ms=1300),
    Bar("roll", "pods", max_ms=150),
    Bar("roll", "service", max_ms=1300),
    Bar("delete-pod", "pods", max_ms=150),
    Bar("delete-pod", "service", max_ms=1300),
)
CLUSTER_BARS: tuple[Bar, ...] = (
    Bar("cluster-kill-primary", "shard", 300, 1500),
    Bar("cluster-kill-primary-no-volume", "shard", 300, 1500),
    Bar("cluster-node-cut", "shard", max_ms=7000),
    Bar("cluster-node-cut-two", "shard", max_ms=11_000),
    Bar("cluster-roll", "shard", max_ms=200),
    Bar("cluster-force-delete-all", SETTLED, max_ms=10_000),
)
