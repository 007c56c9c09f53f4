"""What is promised while a fault lasts, and which of it a run broke. Pure."""

import enum

import msgspec

QUORUM = "Quorum"
THAWS_WITHIN_MS = 100
NODE_TIMEOUT_S = 5.0
"""The default of a cluster: so long may an owner of slots that is cut off not know it."""


class Promise(enum.Enum):
    """In every case what `WAIT` confirmed in Quorum is kept, and two servers never take writes, but while one thaws.

    A cluster has an election of its own: there two servers may take writes of one slot for nodeTimeout, and what `WAIT`
    confirmed is kept where the one replica that has it lives.
    """

    PLANNED = "planned"
    """No acknowledged write is lost."""
    HARMLESS = "harmless"
    """No acknowledged write is lost, and the primary stays."""
    UNPLANNED = "unplanned"
    """A write that no replica had may be lost."""
    LEADERLESS = "leaderless"
    """The same; and no status is written before another operator leads."""
    THAWED = "thawed"
    """The same; and a server that thaws may take what stood in its sockets before its agent is awake."""
    CLUSTER_PLANNED = "cluster-planned"
    """No acknowledged write is lost."""
    CLUSTER_REPLICATED = "cluster-replicated"
    """What `WAIT` confirmed is kept; what no replica had may be lost."""
    CLUSTER_UNPLANNED = "cluster-unplanned"
    """The same, where both nodes that had a write may die one after the other."""

    @property
    def is_for_cluster(self) -> bool:
        return self in {Promise.CLUSTER_PLANNED, Promise.CLUSTER_REPLICATED, Promise.CLUSTER_UNPLANNED}

    @property
    def is_kept_by_replicas_alone(self) -> bool:
        """Whether what only the primary had may be lost."""
        return self not in {Promise.PLANNED, Promise.HARMLESS, Promise.CLUSTER_PLANNED}

    def keeps_confirmed(self, durability: str) -> bool:
        """Whether what `WAIT` confirmed may never be lost."""
        if self.is_for_cluster:
            return self is not Promise.CLUSTER_UNPLANNED
        return durability == QUORUM or not self.is_kept_by_replicas_alone

    @property
    def status_grace_s(self) -> float:
        """After how long without writes a status must tell."""
        if self.is_for_cluster:
            return NODE_TIMEOUT_S + 2
        return 12.0 if self is Promise.LEADERLESS else 5.0

    def tolerates(self, run: "Figures") -> bool:
        """Whether two servers may have taken writes for as long as they did."""
        if self.is_for_cluster:
            return run.longest_overlap_ms <= NODE_TIMEOUT_S * 1000
        return self is Promise.THAWED and run.overlap_ms <= THAWS_WITHIN_MS


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a run."""

    kind: str
    seed: int
    durability: str
    staged: list[str]
    gap_ms: dict[str, float]
    """The longest time without an accepted write, by client."""
    stall_ms: float
    """The longest time for which the clients' own machine did not let them run: gaps are exact to this."""
    acknowledged: dict[str, int]
    lost: dict[str, int] | None
    overlap_ms: float
    longest_overlap_ms: float = 0.0
    strays: int
    primaries_at_once: int
    reads: int
    reads_back: int
    primary_changes: int
    settled_s: float
    status: str
    untrue_s: float
    refusals: dict[str, int]
    broken: list[str]


def broken_promises(run: Figures, promise: Promise) -> list[str]:
    """In sentences; nothing where all were kept."""
    lost_now = run.lost or {"plain": 0, "confirmed": 0}
    checks = {
        "the Valkey could not be read in the end": run.lost is None,
        f"{run.strays} writes were taken by an old primary after the new one's first": run.primaries_at_once > 1
        and not promise.tolerates(run),
        f"{lost_now['confirmed']} writes that WAIT had confirmed are lost": lost_now["confirmed"] > 0
        and promise.keeps_confirmed(run.durability),
        f"{lost_now['plain']} acknowledged writes are lost": lost_now["plain"] > 0
        and not promise.is_kept_by_replicas_alone,
        f"the primary changed {run.primary_changes} times": run.primary_changes > 0 and promise is Promise.HARMLESS,
        f"in the end: {run.status}": bool(run.status),
        f"the status said Ready for {run.untrue_s} s without a primary": run.untrue_s > 0,
    }
    return [sentence for sentence, is_broken in checks.items() if is_broken]
