"""Durations as the API writes them, such as 15s, as numbers."""

import re

_DURATION = re.compile(r"([0-9]+)(ms|s|m|h)", re.ASCII)
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def parse_duration_ms(text: str) -> int:
    """The milliseconds of a duration such as 15s; ValueError if it is none."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no duration; write it like 15s")
    return int(found[1]) * _MILLISECONDS[found[2]]
