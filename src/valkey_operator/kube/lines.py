"""Lines out of a stream, however long they are.

Owns: cutting chunks at newlines, each byte looked at once. Refuses to know: what a line says.
"""


class LineBuffer:
    """Keeps the beginning of a line until its end arrives."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; return the lines that are whole now, without their newline and without empty ones."""
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join([*self._parts, whole[0]])
            self._parts.clear()
        if rest:
            self._parts.append(rest)
        return [line for line in whole if line]
