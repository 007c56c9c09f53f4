"""Each check of the fault suite finds what it is for, in histories made by hand, and nothing else."""

from faults.analysis import Lost, Window, changes, gone_back, longest, lost, most_at_once, overlaps, untrue_s, windows
from faults.history import Outcome, Read, StatusSeen, Way, Write, WriterLog


def write(number: int, at_s: float, server: str = "a", outcome: Outcome = Outcome.ACCEPTED) -> Write:
    """Takes a millisecond, and took effect in it."""
    return Write(number, at_s, at_s, at_s + 0.001, outcome, server)


def reign(server: str, since_s: float, until_s: float, pace_s: float = 0.02) -> list[Write]:
    count = round((until_s - since_s) / pace_s)
    return [write(index, since_s + index * pace_s, server) for index in range(count)]


def log_of(*writes: Write) -> WriterLog:
    return WriterLog(Way.SERVICE, waits=True, writes=list(writes))


def test_an_acknowledged_write_that_is_not_there_is_lost_by_what_its_client_was_told() -> None:
    log = log_of(write(1, 0), write(2, 1), write(3, 2, outcome=Outcome.CONFIRMED), write(4, 3))
    assert lost(log, [1, 4]) == Lost(plain=(2,), confirmed=(3,))


def test_a_write_without_an_answer_and_a_refused_one_may_be_there_or_not() -> None:
    log = log_of(write(1, 0, outcome=Outcome.UNKNOWN), write(2, 1, outcome=Outcome.REFUSED))
    assert lost(log, []) == lost(log, [1, 2]) == Lost((), ())


def test_a_window_without_writes_lies_between_two_accepted_ones() -> None:
    writes = [write(1, 1.0), write(2, 1.5, outcome=Outcome.REFUSED), write(3, 4.0), write(4, 4.1)]
    assert longest(windows(writes, 0.9, 4.2)) == Window(1.001, 4.001)


def test_writes_that_never_come_back_make_a_window_to_the_end() -> None:
    assert longest(windows([write(1, 1.0)], 1.0, 60.0)) == Window(1.001, 60.0)
    assert longest(windows([], 1.0, 60.0)).length_s == 59.0


def test_a_hand_over_is_no_overlap() -> None:
    assert overlaps([*reign("a", 0, 2), *reign("b", 2, 4), *reign("a", 4, 6)]) == []


def test_two_servers_that_take_writes_in_turn_are_two_primaries() -> None:
    [found] = overlaps([*reign("a", 0, 3), *reign("b", 2, 5)])
    assert (found.old, found.new, found.strays) == ("a", "b", 49)
    assert 0.9 < found.until_s - found.since_s < 1.0


def test_one_late_acknowledgement_of_an_old_primary_is_found() -> None:
    [found] = overlaps([*reign("a", 0, 2), *reign("b", 2.5, 20), write(900, 10, "a")])
    assert (found.old, found.new, found.strays) == ("a", "b", 1)


def test_a_write_that_waited_in_a_frozen_server_counts_from_when_it_was_done() -> None:
    frozen = Write(900, sent_s=1.9, effect_s=10.0, done_s=10.001, outcome=Outcome.ACCEPTED, server="a")
    [found] = overlaps([*reign("a", 0, 1.9), *reign("b", 5, 20), frozen])
    assert found.strays == 1


def test_an_acknowledgement_that_may_have_been_earlier_is_not_held_against_anybody() -> None:
    slow = Write(900, sent_s=1.9, effect_s=1.9, done_s=2.6, outcome=Outcome.ACCEPTED, server="a")
    assert overlaps([*reign("a", 0, 1.9), *reign("b", 2.5, 20), slow]) == []


def test_servers_that_take_writes_at_one_time_are_counted() -> None:
    three = overlaps([*reign("a", 0, 3), *reign("b", 1, 4), *reign("c", 2, 5)])
    assert most_at_once(three, anybody=True) == 3
    assert most_at_once([], anybody=True) == 1
    assert most_at_once([], anybody=False) == 0


def of_slot(slot: int, writes: list[Write]) -> list[Write]:
    return [each._replace(slot=slot) for each in writes]


def test_servers_that_take_writes_of_different_slots_are_no_rivals() -> None:
    assert overlaps([*of_slot(1, reign("a", 0, 3)), *of_slot(2, reign("b", 1, 4))]) == []


def test_two_writers_of_one_slot_are_found_among_those_of_others() -> None:
    others = [*of_slot(2, reign("a", 0, 5)), *of_slot(3, reign("b", 0, 5))]
    [found] = overlaps([*of_slot(1, reign("a", 0, 3)), *of_slot(1, reign("b", 2, 5)), *others])
    assert (found.slot, found.old, found.new) == (1, "a", "b")


def test_overlaps_of_several_slots_do_not_add_up_to_more_servers_at_once() -> None:
    found = overlaps([each for slot in (1, 2) for each in of_slot(slot, [*reign("a", 0, 3), *reign("b", 2, 5)])])
    assert len(found) == 2
    assert most_at_once(found, anybody=True) == 2


def test_a_change_of_the_primary_is_counted_whichever_shard_it_is_of() -> None:
    said = ["0=cart-0-0 1=cart-1-0", "0= 1=cart-1-0", "0=cart-0-1 1=cart-1-0 2=cart-2-0", "", "0=cart-0-1 1=cart-1-1"]
    assert changes([StatusSeen(float(at), "Ready", each) for at, each in enumerate(said)]) == 2
    assert changes([StatusSeen(float(at), "Ready", each) for at, each in enumerate(["a", "b", "", "b", "a"])]) == 2


def test_a_read_that_tells_an_older_number_than_one_before_has_gone_back() -> None:
    reads = [Read(0.0, 0.1, 5), Read(0.2, 0.3, 9), Read(0.4, 0.5, 7), Read(0.6, 0.7, 10)]
    assert gone_back(reads) == 1


def test_reads_of_different_lists_are_not_compared() -> None:
    assert gone_back([Read(0.0, 0.1, 9, slot=1), Read(0.2, 0.3, 2, slot=2), Read(0.4, 0.5, 9, slot=1)]) == 0


def test_a_read_that_ran_beside_another_may_tell_an_older_number() -> None:
    assert gone_back([Read(0.0, 0.5, 9), Read(0.1, 0.4, 7)]) == 0


def test_a_status_that_says_ready_while_nobody_takes_writes_is_untrue_after_a_grace() -> None:
    statuses = [StatusSeen(0.0, "Ready", "cart-0"), StatusSeen(12.0, "Degraded", "")]
    assert untrue_s(statuses, [Window(4.0, 30.0)], grace_s=5.0) == 3.0
    assert untrue_s(statuses, [Window(4.0, 8.0)], grace_s=5.0) == 0.0
    assert untrue_s(statuses[1:], [Window(4.0, 30.0)], grace_s=5.0) == 0.0
