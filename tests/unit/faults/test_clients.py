"""What a client makes of the replies it got, all of them or only the first ones."""

from libvalkey import ReplyError

from faults.clients import judge
from faults.connection import Reply, pack
from faults.history import Outcome

TIME = Reply(["100", "500000"], 100.6)
PUSHED = Reply(3, 100.7)


def outcome(*replies: Reply) -> Outcome:
    return judge(1, 100.0, "a", replies).outcome


def test_a_write_is_accepted_by_its_own_reply_and_confirmed_by_that_to_wait() -> None:
    assert outcome(TIME, PUSHED) is Outcome.ACCEPTED
    assert outcome(TIME, PUSHED, Reply(1, 101.0)) is Outcome.CONFIRMED
    assert outcome(TIME, PUSHED, Reply(0, 101.0)) is Outcome.ACCEPTED
    assert outcome(TIME, PUSHED, Reply(ReplyError("UNBLOCKED force unblock"), 101.0)) is Outcome.ACCEPTED


def test_a_write_that_got_no_reply_may_have_happened() -> None:
    assert outcome() is Outcome.UNKNOWN
    assert outcome(TIME) is Outcome.UNKNOWN


def test_a_refused_write_did_not_happen() -> None:
    assert outcome(TIME, Reply(ReplyError("READONLY You can't write"), 100.7)) is Outcome.REFUSED


def test_a_write_took_effect_not_before_the_time_its_server_told_and_not_before_it_was_sent() -> None:
    assert judge(1, 100.0, "a", [TIME, PUSHED]).effect_s == 100.5
    assert judge(1, 100.55, "a", [TIME, PUSHED]).effect_s == 100.55


def test_commands_are_spelled_as_servers_read_them() -> None:
    assert pack(("RPUSH", "käse", 7)) == b"*3\r\n$5\r\nRPUSH\r\n$5\r\nk\xc3\xa4se\r\n$1\r\n7\r\n"
