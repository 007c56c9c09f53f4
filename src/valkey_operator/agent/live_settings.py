"""Which live settings the server beside us has: those it started with, and those it took since. Pure.

Owns: what a server is let in with, what is noted of it, and what an order must change.
Refuses to know: how the server is asked (configure.py), and who wants what.

Noted are the names of all that may have been set, so that what is not wanted any more can be set back, and a digest, by
which the operator sees whether there is anything to do. Both are about one process: the next one starts anew.
"""

from collections.abc import Mapping, Sequence

import msgspec

from valkey_operator.agent.watch import ProcessId
from valkey_operator.valkey.boot import Start
from valkey_operator.valkey.conf import ConfError, parse_conf
from valkey_operator.valkey.config_defaults import DEFAULTS
from valkey_operator.valkey.config_keys import MIN_REPLICAS_TO_WRITE
from valkey_operator.valkey.live import by_name, live_settings, settings_digest

NOT_KNOWN = ""
_WITHOUT_AOF = "appendonly no\n"


class NoDefaultError(Exception):
    """A directive cannot be set back, for this agent does not know its built-in value."""


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The live settings of one process; the digest is `NOT_KNOWN` while it may have other ones."""

    process: ProcessId
    names: tuple[str, ...] = ()
    digest: str = NOT_KNOWN


class StartSettings(msgspec.Struct, frozen=True):
    """What a server reads at its start, and which live settings that gives it; None: nobody can tell."""

    text: str
    live: Mapping[str, str] | None
    min_replicas_to_write: int = 0


def settings_at_start(text: str, *, has_snapshot: bool, has_aof: bool) -> StartSettings:
    """The settings file as it is read; `has_…` is what the server finds on disk.

    A server with the append-only file on reads nothing else. One that was switched on while no server ran has no file
    yet: the server would start empty beside its snapshot. It reads that, and is told to begin the file afterwards.
    """
    try:
        directives = by_name(parse_conf(text))
    except ConfError:
        return StartSettings(text, None)
    live, least = live_settings(directives), _number(directives.get(MIN_REPLICAS_TO_WRITE))
    if live.get("appendonly", "").lower() == "yes" and has_snapshot and not has_aof:
        return StartSettings(text + _WITHOUT_AOF, {**live, "appendonly": "no"}, least)
    return StartSettings(text, live, least)


def with_own_fence(start: Start, settings: StartSettings) -> Start:
    """The start with at least as many replicas to write as the settings ask for; terms of writing may ask for more."""
    least = max(start.min_replicas_to_write, settings.min_replicas_to_write)
    return msgspec.structs.replace(start, min_replicas_to_write=least)


def configured_by_start(process: ProcessId, settings: StartSettings) -> Configured:
    """What a process that is let in with these settings has."""
    if settings.live is None:
        return Configured(process=process)
    return Configured(process=process, names=tuple(sorted(settings.live)), digest=settings_digest(settings.live))


def under_way(before: Configured, wanted: Mapping[str, str]) -> Configured:
    """What is noted before anything is set: it may be set or not."""
    names = tuple(sorted({*before.names, *wanted}))
    return Configured(process=before.process, names=names)


def configured_by_order(before: Configured, wanted: Mapping[str, str]) -> Configured:
    """What is noted once the server has taken everything."""
    return Configured(process=before.process, names=tuple(sorted(wanted)), digest=settings_digest(wanted))


def changes_for(before: Configured, wanted: Mapping[str, str]) -> dict[str, str]:
    """What to set: all that is wanted, and the built-in values of what is not any more; raises NoDefaultError."""
    gone = [name for name in before.names if name not in wanted]
    if unknown := [name for name in gone if name not in DEFAULTS]:
        raise NoDefaultError(f"the built-in value of '{unknown[0]}' is not known; restart the pod to get it back")
    return {**{name: DEFAULTS[name] for name in gone}, **wanted}


def _number(values: Sequence[str] | None) -> int:
    return int(values[-1]) if values and values[-1].isdecimal() else 0
