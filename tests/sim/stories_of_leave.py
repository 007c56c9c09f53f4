"""Stories of leave to write: who gives it, how long it lasts, and while the list of those who could take over changes.

Beside each the rule that closes it, switched off. They are played by test_interleavings.py.
"""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from tests.sim import shard_leader
from tests.sim.shard_chaos import expect
from tests.sim.shard_leave import LEASE_S, Leave
from tests.sim.shard_stage import LONG_ENOUGH_S, Stage
from tests.support.certificates import Authority, write_tls
from valkey_operator.agent import licence
from valkey_operator.core.shard import plan, terms
from valkey_operator.core.shard.steps import Park, Promote, SwapRecord
from valkey_operator.wire import tls
from valkey_operator.wire.identity import node_identity
from valkey_operator.wire.tls import Reloading, TlsFiles


def a_promotion_comes_late() -> None:
    """9. A leader is paused before it promotes; the next one does not reach that node, and chooses another."""
    stage = Stage(replicas=4)
    stage.world.kill(stage.place("x-0"))
    stage.hear()
    stage.pause_before(Promote)
    late = stage.primary
    assert late is not None
    stage.cut(late)
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != late, f"nobody was chosen instead of {late}")
    stage.place(late).machine.off_operator = False
    stage.wake()
    stage.world.tick()
    expect(not stage.world.takes_writes(stage.pod(late)), f"{late} takes writes by an old order")


def an_order_is_a_licence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(licence, "good_until", lambda _sets, _grants, _fence_after_s: (float("inf"), None))


def all_certificates_have_expired() -> None:
    """18. Chain and key are checked, dates are not; by the contexts that agents speak to each other with."""
    authority, long_ago = Authority(), datetime.now(UTC) - timedelta(days=3650)
    with TemporaryDirectory() as folder:
        sides = [
            write_tls(Path(folder) / name, authority.leaf(node_identity("shop", name), now=long_ago), roots)
            for name, roots in (("x-0", authority.root.certificate), ("x-1", authority.root.certificate))
        ]
        _shake_hands(*sides)


def _shake_hands(server: TlsFiles, client: TlsFiles) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    incoming = Reloading(server, ssl.Purpose.CLIENT_AUTH, expired_too=True).context()
    outgoing = Reloading(client, ssl.Purpose.SERVER_AUTH, expired_too=True).context()
    waiting_sides = [
        outgoing.wrap_bio(to_client, to_server),
        incoming.wrap_bio(to_server, to_client, server_side=True),
    ]
    while waiting_sides:
        for side in list(waiting_sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting_sides.remove(side)


def dates_are_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tls, "_NO_CHECK_TIME", 0)


def the_operator_gives_leave_and_is_cut_off() -> None:
    """What it gave lasts on: it waits that long before it chooses another one."""
    stage = Stage()
    stage.cut("x-0", operator=False)
    stage.go(5)
    expect(stage.world.takes_writes(stage.pod("x-0")), "the operator gives no leave")
    stage.cut("x-0")
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")


def the_record_gives_leave_while_nobody_leads() -> None:
    """Not before the Lease has expired; and who leads next waits for what was given, as if it had been its own."""
    stage = Stage()
    stage.operator.resign(politely=False)
    stage.cut("x-0", api=False)
    stage.go(4, led=False)
    expect(not stage.world.takes_writes(stage.pod("x-0")), "somebody may lead, and it writes on")
    stage.go(LEASE_S, led=False)
    expect(stage.world.takes_writes(stage.pod("x-0")), "the record gives no leave")
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")


def leave_that_was_given_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = shard_leader.Leader.facts
    patch.setattr(shard_leader.Leader, "facts", lambda leader: msgspec.structs.replace(real(leader), leave_until=None))


def a_leader_is_paused_while_the_list_grows() -> None:
    """The primary is bound by the list that is on record, and by the one that is to be."""
    stage = Stage(replicas=4)
    for name in ("x-2", "x-3"):
        stage.world.kill(stage.place(name))
    stage.go(0.25)
    expect(stage.world.record is not None and stage.world.record.promotable == ["x-1"], "the list did not shrink")
    stage.go(1, led=False)
    stage.hear()
    stage.pause_before(SwapRecord)
    stage.cut("x-0", "x-2", "x-3")
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary == "x-1", "x-1 did not take over")


def the_primary_knows_the_new_list_alone(patch: pytest.MonkeyPatch) -> None:
    real = terms.terms_between
    patch.setattr(plan, "terms_between", lambda facts, _before, after: real(facts, after, after))


def a_leader_comes_between_two_questions() -> None:
    """An agent finds the Lease free; a leader comes; then the agent reads the record, which is still unchanged."""
    stage = Stage()
    stage.cut("x-0", api=False)
    stage.operator.resign(politely=False)
    stage.world.leave.is_slow = lambda: True
    while stage.pod("x-0").agent.no_operator_since is None:
        stage.go(0.25, led=False)
    stage.operator.elect()
    stage.go(0.75, led=False)
    stage.world.leave.is_slow = lambda: False
    stage.go(0.25, led=False)
    stage.go(LONG_ENOUGH_S)


def a_primary_that_did_not_park_goes_on() -> None:
    """Its server hung for a moment when it was to hand over."""
    stage = Stage()
    stage.world.wished = "x-1"
    stage.pause_before(Park)
    stage.server("x-0").hung = True
    stage.wake()
    stage.world.wished = None
    stage.act()
    stage.server("x-0").hung = False
    stage.server("x-0").late.clear()  # the order was lost on its way
    stage.go(LONG_ENOUGH_S)
    expect(stage.world.takes_writes(stage.pod("x-0")), "x-0 takes no writes")


def leave_counts_from_the_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leave, "counts_from_the_order", True)


def leave_counts_from_the_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leave, "counts_from_the_record", True)


def who_was_told_to_park_asks_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leave, "who_did_not_park_is_mute", True)
