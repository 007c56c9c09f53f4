import pytest

from valkey_operator.valkey.rdb import snapshot_offset


def note(name: bytes, value: bytes) -> bytes:
    return b"\xfa" + text(name) + value


def text(content: bytes) -> bytes:
    return bytes([len(content)]) + content


VERSION = note(b"valkey-ver", text(b"9.1.2"))
BITS = note(b"redis-bits", b"\xc0\x40")
LONG = note(b"long", b"\x41\x00" + b"x" * 256)
VERY_LONG = note(b"very-long", b"\x80\x00\x00\x01\x00" + b"x" * 256)
DATA = b"\xfe\x00"


@pytest.mark.parametrize(
    ("head", "offset"),
    [
        (b"REDIS0011" + VERSION + BITS + note(b"repl-offset", text(b"123456789012")) + DATA, 123456789012),
        (b"VALKEY080" + VERSION + note(b"repl-offset", b"\xc0\x0e") + DATA, 14),
        (b"REDIS0011" + LONG + note(b"repl-offset", b"\xc1\x00\x10") + DATA, 4096),
        (b"REDIS0011" + VERY_LONG + note(b"repl-offset", b"\xc2\x00\x00\x01\x00") + DATA, 65536),
        (b"REDIS0011" + note(b"repl-offset", b"\xc0\xff") + DATA, 0),
        (b"REDIS0011" + VERSION + BITS + DATA, 0),
        (b"REDIS0011" + DATA + note(b"repl-offset", b"\xc0\x0e"), 0),
        (b"REDIS0011" + note(b"repl-offset", text(b"many")) + DATA, 0),
        (b"REDIS0011" + note(b"repl-offset", b"\xc3\x01") + DATA, 0),
        (b"SQLite format 3", 0),
        (b"", 0),
    ],
)
def test_the_offset_is_among_the_notes_before_the_data_or_it_is_nowhere(head: bytes, offset: int) -> None:
    assert snapshot_offset(head) == offset


def test_a_head_that_is_cut_anywhere_is_no_error() -> None:
    head = b"REDIS0011" + VERSION + LONG + VERY_LONG + note(b"repl-offset", b"\xc2\x00\x00\x01\x00")
    assert {snapshot_offset(head[:size]) for size in range(len(head))} == {0}
    assert snapshot_offset(head) == 65536
