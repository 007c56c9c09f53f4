r"""The text of valkey.conf: written and read exactly as Valkey's own parser takes it.

Owns: quoting. Any value survives: what is not plain is put into double quotes, every byte that is not printable ASCII
as \xHH, so that no value can end its line or begin another directive.
Refuses to know: which directives exist and who may set them (config_keys.py).

The grammar is that of `sdssplitargs` (src/sds.c) and `loadServerConfigFromString` (src/config.c), 8.0 to 9.1. A server
splits a directive that takes several words itself, also when they come in one pair of quotes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from valkey_operator.api.fields import ConfigScalar, ConfigValue

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9._-]*", re.ASCII)
_PLAIN = re.compile(r"[a-zA-Z0-9_./:@%+,=*~&^$!?<>|;()\[\]{}-]+", re.ASCII)
_SHORT_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "b": b"\b", "a": b"\a"}
_HEX_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})", re.ASCII)
_C_SPACES = " \t\n\v\f\r"
_END_OF_WORD = " \n\r\t"
_LINE_ENDS = " \t\r\n"
_PRINTABLE = range(0x20, 0x7F)


class ConfError(ValueError):
    """A directive cannot be written or read; the message says which and why."""


class Directive(NamedTuple):
    """One line of valkey.conf."""

    name: str
    arguments: tuple[str, ...]


def directives_of(config: Mapping[str, ConfigValue]) -> list[Directive]:
    """The `config` of a spec as directives, in its order; a list repeats its directive."""
    return [Directive(name, (render_value(each),)) for name, value in config.items() for each in _occurrences(value)]


def render_value(value: ConfigScalar) -> str:
    """A value of a spec in Valkey's words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def render_conf(directives: Iterable[Directive]) -> str:
    """The text of a configuration file, one directive on each line."""
    return "".join(f"{_render_directive(each)}\n" for each in directives)


def quoted(value: str) -> str:
    """One argument in quotes, which Valkey's sdssplitargs reads back exactly."""
    return '"' + "".join(_quoted_byte(byte) for byte in value.encode()) + '"'


def parse_conf(text: str) -> list[Directive]:
    """The directives of a configuration file, in their order and with their names in lower case."""
    # A server reads C strings: for it, a line ends at a NUL.
    lines = (line.partition("\0")[0].strip(_LINE_ENDS) for line in text.split("\n"))
    words = (list(_words(line)) for line in lines if not line.startswith("#"))
    return [Directive(name.lower(), tuple(arguments)) for name, *arguments in filter(None, words)]


def _occurrences(value: ConfigValue) -> list[ConfigScalar]:
    return value if isinstance(value, list) else [value]


def _render_directive(directive: Directive) -> str:
    if not _NAME.fullmatch(directive.name):
        raise ConfError(
            f"{directive.name!r} is no name of a directive: it holds other than letters, digits, '.', '_', '-'"
        )
    return " ".join([directive.name, *(_quote(each, directive.name) for each in directive.arguments)])


def _quote(value: str, name: str) -> str:
    if "\0" in value:
        raise ConfError(f"the value of {name} holds a NUL, at which Valkey would cut it off")
    if _PLAIN.fullmatch(value):
        return value
    return quoted(value)


def _quoted_byte(byte: int) -> str:
    if chr(byte) in '"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if byte in _PRINTABLE else f"\\x{byte:02x}"


def _words(line: str) -> Iterator[str]:
    place = 0
    while True:
        while place < len(line) and line[place] in _C_SPACES:
            place += 1
        if place == len(line):
            return
        word, place = _read_word(line, place)
        yield word


def _read_word(line: str, place: int) -> tuple[str, int]:
    found = bytearray()
    while place < len(line) and line[place] not in _END_OF_WORD:
        if line[place] in "\"'":
            quoted, place = _read_quoted(line, place)
            found += quoted
            return _decoded(found), place
        found += line[place].encode()
        place += 1
    return _decoded(found), place


def _read_quoted(line: str, start: int) -> tuple[bytes, int]:
    """What stands between quotes, and the place after them, which must be the end of the word."""
    mark, found, place = line[start], bytearray(), start + 1
    while place < len(line) and line[place] != mark:
        taken, place = _read_double(line, place) if mark == '"' else _read_single(line, place)
        found += taken
    after = place + 1
    if place >= len(line) or (after < len(line) and line[after] not in _C_SPACES):
        raise ConfError(f"unbalanced quotes in {line!r}")
    return bytes(found), after


def _read_double(line: str, place: int) -> tuple[bytes, int]:
    if hexadecimal := _HEX_ESCAPE.match(line, place):
        return bytes([int(hexadecimal[1], 16)]), hexadecimal.end()
    if line[place] == "\\" and place + 1 < len(line):
        following = line[place + 1]
        return _SHORT_ESCAPES.get(following, following.encode()), place + 2
    return line[place].encode(), place + 1


def _read_single(line: str, place: int) -> tuple[bytes, int]:
    if line.startswith("\\'", place):
        return b"'", place + 2
    return line[place].encode(), place + 1


def _decoded(found: bytearray) -> str:
    return found.decode(errors="surrogateescape")
