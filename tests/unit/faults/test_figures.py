"""A run in figures: what it lost, how long nobody wrote, and which promises that breaks."""

from collections.abc import Sequence

import pytest

from faults.figures import End, Staged, figures
from faults.history import History, Outcome, StatusSeen, Way, Write, WriterLog
from faults.promises import Figures, Promise
from faults.schedule import Plan

ALL = range(1, 101)


def writes(*, gap_after: int = 0, gap_s: float = 0.0, outcome: Outcome = Outcome.ACCEPTED) -> list[Write]:
    """A hundred, one every 10 ms, with a gap after one of them."""
    times = [number * 0.01 + (gap_s if number > gap_after else 0.0) for number in ALL]
    return [Write(number, at, at, at + 0.001, outcome, "a") for number, at in zip(ALL, times, strict=True)]


def run(
    log: Sequence[Write],
    promise: Promise = Promise.PLANNED,
    *,
    durability: str = "Quorum",
    probes: Sequence[Write] = (),
    primaries: Sequence[str] = ("cart-0",),
    end: End | None = None,
) -> Figures:
    history = History(
        writers=(WriterLog(Way.SERVICE, waits=False, writes=list(log)),),
        probes=tuple(probes),
        reads=(),
        statuses=tuple(StatusSeen(float(at), "Ready", name) for at, name in enumerate(primaries)),
    )
    staged = [Staged("roll", "all pods", 0.5, 0.6)]
    found = end or End(1.0, "", {"service": list(ALL)})
    return figures(Plan("roll", 1, durability, ()), promise, history, staged=staged, end=found)


def test_a_run_that_lost_nothing_breaks_no_promise() -> None:
    found = run(writes(gap_after=50, gap_s=0.5))
    assert (found.gap_ms, found.lost, found.broken) == ({"service": 510.0}, {"plain": 0, "confirmed": 0}, [])


def without_seven() -> End:
    return End(1.0, "", {"service": [number for number in ALL if number != 7]})


@pytest.mark.parametrize(
    ("promise", "outcome", "durability", "is_broken"),
    [
        (Promise.PLANNED, Outcome.ACCEPTED, "Available", True),
        (Promise.HARMLESS, Outcome.ACCEPTED, "Available", True),
        (Promise.UNPLANNED, Outcome.ACCEPTED, "Quorum", False),
        (Promise.UNPLANNED, Outcome.CONFIRMED, "Quorum", True),
        (Promise.UNPLANNED, Outcome.CONFIRMED, "Available", False),
        (Promise.PLANNED, Outcome.CONFIRMED, "Available", True),
        (Promise.CLUSTER_PLANNED, Outcome.ACCEPTED, "Available", True),
        (Promise.CLUSTER_REPLICATED, Outcome.ACCEPTED, "Available", False),
        (Promise.CLUSTER_REPLICATED, Outcome.CONFIRMED, "Available", True),
        (Promise.CLUSTER_UNPLANNED, Outcome.CONFIRMED, "Available", False),
    ],
)
def test_a_lost_write_breaks_what_was_promised_for_it(
    promise: Promise, outcome: Outcome, durability: str, is_broken: bool
) -> None:
    found = run(writes(outcome=outcome), promise, durability=durability, end=without_seven())
    assert sum((found.lost or {}).values()) == 1
    assert bool(found.broken) is is_broken


def test_a_write_that_a_thawing_server_takes_breaks_no_promise_of_thaws() -> None:
    other = [Write(1, 0.5, 0.5, 0.501, Outcome.ACCEPTED, "b")]
    found = run(writes(), Promise.THAWED, probes=other)
    assert (found.primaries_at_once, found.strays, found.broken) == (2, 1, [])


def test_two_servers_that_take_writes_break_every_other_promise() -> None:
    other = [Write(1, 0.5, 0.5, 0.501, Outcome.ACCEPTED, "b")]
    for promise in (each for each in Promise if each is not Promise.THAWED and not each.is_for_cluster):
        found = run(writes(), promise, probes=other)
        assert found.primaries_at_once == 2
        assert found.broken == ["1 writes were taken by an old primary after the new one's first"]


def test_two_servers_of_a_cluster_that_take_writes_of_one_slot_break_a_promise_after_the_node_timeout() -> None:
    def stray(*times_s: float) -> list[Write]:
        return [Write(1, at, at, at + 0.001, Outcome.ACCEPTED, "b") for at in times_s]

    long = [Write(number, number * 0.1, number * 0.1, number * 0.1, Outcome.ACCEPTED, "a") for number in ALL]
    briefly = run(long, Promise.CLUSTER_REPLICATED, probes=stray(1.05, 1.95, 2.85, 3.75))
    assert (briefly.primaries_at_once, briefly.strays > 0, briefly.broken) == (2, True, [])
    for_long = run(long, Promise.CLUSTER_REPLICATED, probes=stray(*(1.05 + 0.9 * count for count in range(8))))
    assert for_long.longest_overlap_ms > 5000
    assert [each for each in for_long.broken if "old primary" in each]


def test_a_status_is_untrue_if_it_says_ready_while_one_of_the_shards_takes_nothing() -> None:
    logs = [
        WriterLog("shard-0", waits=False, slot=1, writes=writes(gap_after=50, gap_s=20.0)),
        WriterLog("shard-1", waits=False, slot=2, writes=[each._replace(slot=2, server="b") for each in writes()]),
    ]
    history = History(tuple(logs), (), (), (StatusSeen(0.0, "Ready", "0=cart-0-0 1=cart-1-0"),))
    found = figures(
        Plan("roll", 1, "Available", ()),
        Promise.CLUSTER_PLANNED,
        history,
        staged=[],
        end=End(1.0, "", {log.name: list(ALL) for log in logs}),
    )
    assert (found.gap_ms["shard-0"], found.untrue_s > 10) == (20010.0, True)


def test_a_new_primary_breaks_a_promise_only_where_none_was_called_for() -> None:
    assert run(writes(), Promise.PLANNED, primaries=("cart-0", "cart-1")).broken == []
    assert run(writes(), Promise.HARMLESS, primaries=("cart-0", "cart-1")).broken == ["the primary changed 1 times"]


def test_a_status_that_is_untrue_in_the_end_and_data_that_cannot_be_read_are_told() -> None:
    found = run(writes(), end=End(150.0, "not whole", None))
    assert found.lost is None
    assert found.broken == ["the Valkey could not be read in the end", "in the end: not whole"]


def test_ready_without_a_primary_is_told() -> None:
    assert run(writes(gap_after=50, gap_s=20.0)).broken == ["the status said Ready for 15.0 s without a primary"]
    leaderless = run(writes(gap_after=50, gap_s=20.0), Promise.LEADERLESS)
    assert leaderless.broken == ["the status said Ready for 8.0 s without a primary"]
