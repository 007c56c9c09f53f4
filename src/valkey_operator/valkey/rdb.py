"""The head of a snapshot: the notes that Valkey writes before the data.

Owns: the format of these notes. Refuses to know: the data behind them, and where a snapshot is kept.
"""

# Enough for all that Valkey notes; what a module adds comes later.
HEAD_BYTES = 1024
_MAGICS = (b"REDIS", b"VALKEY")
_MAGIC_AND_VERSION = 9
_NOTE = 0xFA
_OFFSET = b"repl-offset"
_INTEGER_BYTES = {0xC0: 1, 0xC1: 2, 0xC2: 4}
_SIX_BITS, _FOURTEEN_BITS, _THIRTY_TWO_BITS = 0, 1, 0x80


def snapshot_offset(head: bytes) -> int:
    """The replication offset up to which a snapshot goes; 0 where its first bytes do not say."""
    if not head.startswith(_MAGICS):
        return 0
    at = _MAGIC_AND_VERSION
    try:
        while head[at] == _NOTE:
            name, at = _read_text(head, at + 1)
            value, at = _read_text(head, at)
            if name == _OFFSET:
                return max(int(value), 0)
    except (IndexError, ValueError):
        pass
    return 0


def _read_text(head: bytes, at: int) -> tuple[bytes, int]:
    """A text and where it ends. Short numbers are kept as numbers."""
    first = head[at]
    if first in _INTEGER_BYTES:
        size, begin = _INTEGER_BYTES[first], at + 1
        number = int.from_bytes(_part(head, begin, size), "little", signed=True)
        return str(number).encode(), begin + size
    if first == _THIRTY_TWO_BITS:
        size, begin = int.from_bytes(_part(head, at + 1, 4), "big"), at + 5
    elif first >> 6 == _FOURTEEN_BITS:
        size, begin = (first & 0x3F) << 8 | head[at + 1], at + 2
    elif first >> 6 == _SIX_BITS:
        size, begin = first & 0x3F, at + 1
    else:
        raise ValueError(f"{first:#x} begins no text that a note could have")
    return _part(head, begin, size), begin + size


def _part(head: bytes, begin: int, size: int) -> bytes:
    if begin + size > len(head):
        raise IndexError("cut")
    return head[begin : begin + size]
