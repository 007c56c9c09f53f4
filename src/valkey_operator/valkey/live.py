"""Live settings: the directives that a running server takes, each as the one value that CONFIG SET wants.

Owns: how lines of a file become such values, when two sets of them are the same, and whether a server has what it was
asked to have. Refuses to know: who asks, and whether it was obeyed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from valkey_operator.valkey.conf import Directive
from valkey_operator.valkey.config_defaults import DEFAULTS, main_name
from valkey_operator.valkey.config_keys import is_live

_BUFFER_LIMITS = "client-output-buffer-limit"
_KEYSPACE_EVENTS = "notify-keyspace-events"
# What `A` stands for; a server answers with the shorter form.
_ALL_EVENTS = frozenset("g$lshzxetd")
_MEMORY = re.compile(r"(-?[0-9]+)(b|k|kb|m|mb|g|gb)?")
_UNITS = {"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000**2, "mb": 1 << 20, "g": 1000**3, "gb": 1 << 30}
_WORDS_OF_A_LIMIT = 4


def by_name(directives: Iterable[Directive]) -> dict[str, list[str]]:
    """Lines of a file as directives with their occurrences, each under its one name."""
    found: dict[str, list[str]] = {}
    for name, arguments in directives:
        found.setdefault(main_name(name), []).append(" ".join(arguments))
    return found


def live_settings(directives: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What of these directives a running server takes; the names are those that `main_name` gives."""
    return {name: _as_one(name, values) for name, values in directives.items() if is_live(name)}


def settings_digest(settings: Mapping[str, str]) -> str:
    """Equal digests: equal settings."""
    text = msgspec.json.encode(dict(settings), order="deterministic")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def is_as_asked(name: str, asked: str, read: str) -> bool:
    """Whether what CONFIG GET says is what CONFIG SET was given: servers have their own way to write a value."""
    if asked == read:
        return True
    if name == _KEYSPACE_EVENTS:
        return _events(asked) == _events(read)
    if name == _BUFFER_LIMITS:
        return _limits(asked) == _limits(read)
    return _plain_words(asked) == _plain_words(read)


def parse_memory(text: str) -> int | None:
    """The bytes of a size such as 1gb, as servers read it; None for what is no size."""
    found = _MEMORY.fullmatch(text.lower())
    return int(found[1]) * _UNITS[found[2] or ""] if found else None


def _as_one(name: str, values: Sequence[str]) -> str:
    """In a file, lines of these two add up; of any other directive the last one counts."""
    if name == "save":
        return " ".join(" ".join(values).split())
    if name == _BUFFER_LIMITS:
        # A class that is not named stays as it was set before, also when it is taken out of a spec.
        return " ".join([DEFAULTS[name], *values])
    return values[-1]


def _plain_words(text: str) -> list[str | float]:
    return [_plain(word) for word in text.lower().split()]


def _plain(word: str) -> str | float:
    memory = parse_memory(word)
    if memory is not None:
        return memory
    try:
        return float(word)
    except ValueError:
        return word


def _limits(text: str) -> dict[str | float, list[str | float]]:
    words = _plain_words(text.lower().replace("replica", "slave"))
    starts = range(0, len(words), _WORDS_OF_A_LIMIT)
    return {words[start]: words[start + 1 : start + _WORDS_OF_A_LIMIT] for start in starts}


def _events(text: str) -> frozenset[str]:
    flags = frozenset(text)
    return (flags | _ALL_EVENTS) - {"A"} if "A" in flags else flags
