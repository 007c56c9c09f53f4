import pytest

from valkey_operator.agent.promise import Promise
from valkey_operator.agent.record import PendingChange, RecordedOperation, ShardRecord
from valkey_operator.agent.start import decide_start
from valkey_operator.valkey.boot import StartKind

ME = "cart-0"
SWITCHOVER = RecordedOperation(type="Switchover", source=ME)


def record(epoch: int = 7, primary: str | None = ME, **changes: object) -> ShardRecord:
    return ShardRecord(epoch=epoch, primary=primary, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "kind", "primary"),
    [
        (record(), StartKind.WRITABLE_PRIMARY, None),
        (record(operation=RecordedOperation(type="Switchover", source="cart-1")), StartKind.WRITABLE_PRIMARY, None),
        (record(operation=RecordedOperation(type="Upgrade", source=ME)), StartKind.WRITABLE_PRIMARY, None),
        (record(epoch=8), StartKind.WRITABLE_PRIMARY, None),
        (record(primary="cart-1"), StartKind.REPLICA, "cart-1"),
        (record(primary="cart-1", promotable=(ME,)), StartKind.REPLICA, "cart-1"),
        (record(primary="cart-1", promotable=("cart-2",)), StartKind.REPLICA, "cart-1"),
    ],
)
def test_the_record_alone_decides_where_nobody_could_have_a_newer_copy(
    given: ShardRecord, kind: StartKind, primary: str | None
) -> None:
    decision = decide_start(given, node=ME, promise=Promise(epoch=7))
    assert (decision.kind, decision.primary) == (kind, primary)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (record(primary=None), "names no primary"),
        (record(primary=""), "names no primary"),
        (record(promotable=("cart-1", "cart-2")), "cart-1, cart-2 may have a newer copy"),
        (record(pending=PendingChange(epoch=8)), "epoch 8 is pending"),
        (record(primary="cart-1", pending=PendingChange(epoch=8)), "epoch 8 is pending"),
        (record(operation=SWITCHOVER), "a switchover away"),
        (record(epoch=6), "epoch 7 was promised"),
        (record(epoch=6, primary="cart-1"), "epoch 7 was promised"),
    ],
)
def test_a_server_waits_for_the_operator_where_the_record_leaves_a_choice(given: ShardRecord, reason: str) -> None:
    decision = decide_start(given, node=ME, promise=Promise(epoch=7))
    assert decision.kind is None
    assert reason in decision.reason
