import json

import pytest

from tests.support.api_server import record
from valkey_operator.agent.record import PendingChange, RecordedOperation, RecordError, ShardRecord, parse_record


def body(**changes: object) -> bytes:
    return json.dumps({"kind": "ValkeyShard", "spec": record(**changes)}).encode()  # type: ignore[arg-type]


def test_of_a_record_only_what_a_start_needs_is_read() -> None:
    full = body(
        epoch=3,
        promotable=["cart-1"],
        pending={"epoch": 4, "reason": "gone"},
        operation={"type": "Switchover", "source": "cart-0", "target": "cart-1"},
        replicationId="a" * 40,
    )
    assert parse_record(200, full) == ShardRecord(
        epoch=3,
        primary="cart-0",
        promotable=("cart-1",),
        pending=PendingChange(epoch=4),
        operation=RecordedOperation(type="Switchover", source="cart-0"),
    )
    assert parse_record(200, b'{"spec": {"epoch": 0}}') == ShardRecord(epoch=0)


@pytest.mark.parametrize(
    ("status", "text", "sentence"),
    [
        (404, b'{"kind": "Status"}', 'the API server answers 404: {"kind": "Status"}'),
        (403, b"\xff", "the API server answers 403"),
        (200, b"{}", "the API server's answer is no ValkeyShard"),
        (200, b'{"spec": {"primary": "cart-0"}}', "the API server's answer is no ValkeyShard"),
        (200, b"", "the API server's answer is no ValkeyShard"),
        (200, b'{"spec": {"epoch": 1, "primary": "\xff"}}', "the API server's answer is no ValkeyShard"),
    ],
)
def test_what_is_no_record_is_an_error_in_one_sentence(status: int, text: bytes, sentence: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse_record(status, text)
    assert str(caught.value).startswith(sentence)
