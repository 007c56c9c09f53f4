from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.agent.orders import Refusal, check_order
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.watch import Look, ProcessId, Watched, after_look
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Credentials, Start, StartKind, render_start_conf
from valkey_operator.valkey.states import ProcessState

processes = st.builds(ProcessId, st.integers(1, 3), st.integers(1, 3))
looks = st.lists(st.builds(Look, st.none() | processes, st.booleans()))
orders = st.lists(st.builds(pb.Order, term=st.integers(0, 5), epoch=st.integers(0, 5), pod_uid=st.sampled_from("ab")))


@given(looks)
def test_a_state_always_tells_of_the_last_look(seen: list[Look]) -> None:
    watched = Watched()
    for look in seen:
        before, watched = watched, after_look(watched, look)
        dead = watched.state in {ProcessState.SHUT, ProcessState.GONE}
        assert dead == (look.process is None)
        assert watched.process == (look.process or before.process)
        assert watched.starts - before.starts in {0, 1}
        assert not look.listens or dead or watched.state is ProcessState.RUNNING


@given(orders)
def test_a_promise_never_goes_back_and_a_refused_order_leaves_no_trace(given_orders: list[pb.Order]) -> None:
    promise = Promise()
    for order in given_orders:
        try:
            after = check_order(order, pod_uid="a", promise=promise, given=promise.given)
        except Refusal:
            assert order.pod_uid != "a" or order.term < promise.term or order.epoch < promise.epoch
            continue
        assert (after.term, after.epoch) >= (promise.term, promise.epoch)
        assert after.epoch >= promise.epoch
        promise = after


@given(st.text())
def test_any_password_is_one_argument_on_one_line(password: str) -> None:
    credentials = Credentials(default_password=password, agent_password="x")
    text = render_start_conf(Start(kind=StartKind.PARKED), credentials, port=1, settings_file=None)
    [line] = [line for line in text.split("\n") if line.startswith("primaryauth ")]
    assert read_quoted(line.removeprefix("primaryauth ")) == password.encode()


def read_quoted(text: str) -> bytes:
    """Read one argument in double quotes as Valkey's sdssplitargs does."""
    assert text.startswith('"')
    assert text.endswith('"')
    return bytes(unescaped(iter(text[1:-1])))


def unescaped(characters: Iterable[str]) -> Iterable[int]:
    stream = iter(characters)
    for character in stream:
        assert character != '"', "an unescaped quote ends the argument"
        if character != "\\":
            yield ord(character)
            continue
        kind = next(stream)
        yield int(next(stream) + next(stream), 16) if kind == "x" else ord(kind)
