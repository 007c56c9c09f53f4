"""Valkey's INFO reply as typed values.

Owns: the text format, and the names and meaning of the fields the operator relies on.
Refuses to know: how the text was fetched, and what follows from it.

Valkey renames step by step: `master` becomes `primary`, `slave` becomes `replica`. Field names and role are brought
to the newer words first, so one reader serves old and new servers. Unknown fields are kept in the sections and ignored
by the typed readers; a field that is missing or malformed raises `InfoError`, and nothing else is ever raised.
"""

import enum
import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

Section = Mapping[str, str]
Sections = Mapping[str, Section]

_NO_REPLICATION_ID = "0" * 40
_NO_SECOND_OFFSET = -1
_LINK_NEVER_WAS_UP = -1
_WRITTEN = "ok"
_GOOD_REPLICAS = "min_replicas_good_replicas"
_OLD_WORDS = re.compile(r"(?<![a-z])(master|slave)(?=s?[0-9]*(_|$))")
_NEW_WORDS = {"master": "primary", "slave": "replica"}
# Every number in INFO fits 64 bits; int() alone would also take "1_0", " 7" and digits of other scripts.
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})", re.ASCII)
_KEYS = re.compile(r"keys=([0-9]{1,20}),", re.ASCII)
_REPLICA_FIELD = re.compile(r"replica([0-9]{1,9})", re.ASCII)


class InfoError(ValueError):
    """The INFO text lacks something or is malformed; the message says where, what stood there, what was expected."""


class Role(enum.StrEnum):
    """What a server says it is. A fenced or parked server still names one of these."""

    PRIMARY = "primary"
    REPLICA = "replica"


class LinkStatus(enum.StrEnum):
    """A replica's connection to its primary; `UP` only after the initial synchronisation."""

    UP = "up"
    DOWN = "down"


class ServerMode(enum.StrEnum):
    """The mode the process was started in; it never changes while the process lives."""

    STANDALONE = "standalone"
    CLUSTER = "cluster"
    SENTINEL = "sentinel"


class Version(NamedTuple):
    """A Valkey release; compares by age."""

    major: int
    minor: int
    patch: int


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Section `server`: which process this is. `run_id` is new at every start of the process."""

    version: Version
    mode: ServerMode
    run_id: str
    process_id: int
    uptime_s: int


class ConnectedReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A replica as its primary sees it. Only in state `online` does it receive the live stream."""

    host: str
    port: int
    state: str
    acknowledged_offset: int
    lag_s: int


class PrimaryLink(msgspec.Struct, frozen=True, kw_only=True):
    """A replica's view of its own link.

    `applied_offset` is what the data set contains, `received_offset` may be ahead of it. `down_for_s` is None while the
    link is up, and also where it has never been up since the process started.
    """

    host: str
    port: int
    status: LinkStatus
    sync_in_progress: bool
    applied_offset: int
    received_offset: int
    down_for_s: int | None


class ReplicationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Section `replication`.

    Offsets compare only under one replication id. After a promotion the former id stays valid in
    `former_replication_id` for offsets before `former_id_valid_below`; both are None where there was none.
    `primary_link` is there for a replica and only for a replica. `good_replicas` are those that a server counts which
    needs some to write (`min-replicas-to-write`); None where it needs none.
    """

    role: Role
    replication_id: str
    offset: int
    former_replication_id: str | None
    former_id_valid_below: int | None
    replicas: tuple[ConnectedReplica, ...]
    good_replicas: int | None = None
    primary_link: PrimaryLink | None


class PersistenceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Section `persistence`: whether the data set is being read, from disk or from a primary, and what was not written.

    `aof_failed` is false where no append-only file is written.
    """

    loading: bool
    snapshot_failed: bool
    aof_failed: bool


class MemoryInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Section `memory`; `limit_bytes` is 0 where no maxmemory is set."""

    used_bytes: int
    limit_bytes: int


def parse_sections(text: str) -> Sections:
    """Split INFO text into sections (lower-case name) of fields (newer word, raw value).

    Fields before the first heading go to the section named "".
    """
    sections: dict[str, dict[str, str]] = {}
    current = ""
    for number, raw_line in enumerate(text.split("\n"), start=1):
        line = raw_line.removesuffix("\r")
        if not line:
            continue
        if line.startswith("#"):
            current = line[1:].strip().lower()
            sections.setdefault(current, {})
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise InfoError(f"INFO line {number} is {line!r}; expected a '# heading' or 'field:value'")
        sections.setdefault(current, {})[_OLD_WORDS.sub(lambda word: _NEW_WORDS[word[1]], name)] = value
    return sections


def parse_server(sections: Sections) -> ServerInfo:
    """Read section `server`; a server that is not Valkey has no `valkey_version` and is refused."""
    fields = _section(sections, "server")
    return ServerInfo(
        version=_version(fields),
        # 8.0 renamed redis_mode; with extended-redis-compatibility it still answers with the old name.
        mode=_one_of(ServerMode, fields, "server_mode" if "server_mode" in fields else "redis_mode"),
        run_id=_text(fields, "run_id"),
        process_id=_number(fields, "process_id"),
        uptime_s=_number(fields, "uptime_in_seconds"),
    )


def parse_replication(sections: Sections) -> ReplicationInfo:
    """Read section `replication` of a primary or a replica."""
    fields = _section(sections, "replication")
    role = Role(_modern_role(fields))
    former_id = _text(fields, "primary_replid2")
    former_below = _number(fields, "second_repl_offset")
    return ReplicationInfo(
        role=role,
        replication_id=_text(fields, "primary_replid"),
        offset=_number(fields, "primary_repl_offset"),
        former_replication_id=None if former_id == _NO_REPLICATION_ID else former_id,
        former_id_valid_below=None if former_below == _NO_SECOND_OFFSET else former_below,
        replicas=_connected_replicas(fields),
        good_replicas=_number(fields, _GOOD_REPLICAS) if _GOOD_REPLICAS in fields else None,
        primary_link=_primary_link(fields) if role is Role.REPLICA else None,
    )


def parse_persistence(sections: Sections) -> PersistenceInfo:
    """Read section `persistence`."""
    fields = _section(sections, "persistence")
    return PersistenceInfo(
        loading=_number(fields, "loading") != 0 or _number(fields, "async_loading") != 0,
        snapshot_failed=_text(fields, "rdb_last_bgsave_status") != _WRITTEN,
        aof_failed=_number(fields, "aof_enabled") != 0 and _text(fields, "aof_last_write_status") != _WRITTEN,
    )


def parse_memory(sections: Sections) -> MemoryInfo:
    """Read section `memory`."""
    fields = _section(sections, "memory")
    return MemoryInfo(used_bytes=_number(fields, "used_memory"), limit_bytes=_number(fields, "maxmemory"))


def parse_keys(sections: Sections) -> int:
    """How many keys there are in all databases, from section `keyspace`, which has no line for an empty one."""
    counts = (_KEYS.match(value) for name, value in _section(sections, "keyspace").items() if name.startswith("db"))
    return sum(int(found[1]) for found in counts if found)


def parse_refused_writes(sections: Sections) -> int:
    """Writes that a server refused as a replica, from section `errorstats`, which has no line for what never was."""
    count = sections.get("errorstats", {}).get("errorstat_READONLY", "count=0").removeprefix("count=")
    return _number({"errorstat_READONLY": count}, "errorstat_READONLY")


def _primary_link(fields: Section) -> PrimaryLink:
    down_for_s = _number(fields, "primary_link_down_since_seconds") if _is_down(fields) else None
    return PrimaryLink(
        host=_text(fields, "primary_host"),
        port=_number(fields, "primary_port"),
        status=_one_of(LinkStatus, fields, "primary_link_status"),
        sync_in_progress=_number(fields, "primary_sync_in_progress") != 0,
        applied_offset=_number(fields, "replica_repl_offset"),
        received_offset=_number(fields, "replica_read_repl_offset"),
        down_for_s=None if down_for_s == _LINK_NEVER_WAS_UP else down_for_s,
    )


def _is_down(fields: Section) -> bool:
    return fields.get("primary_link_status") == LinkStatus.DOWN


def _connected_replicas(fields: Section) -> tuple[ConnectedReplica, ...]:
    """Collect replica0, replica1 ...; a replica without a known address is missing, so the numbers may have gaps."""
    numbered = ((_REPLICA_FIELD.fullmatch(name), name) for name in fields)
    in_order = sorted((int(match[1]), name) for match, name in numbered if match)
    return tuple(_connected_replica(name, fields[name]) for _, name in in_order)


def _connected_replica(name: str, value: str) -> ConnectedReplica:
    parts: dict[str, str] = {}
    for part in value.split(","):
        key, equals, word = part.partition("=")
        if not equals:
            raise InfoError(f"INFO field {name!r} is {value!r}; expected 'key=value' pairs parted by commas")
        parts[f"{name}.{key}"] = word
    return ConnectedReplica(
        host=_text(parts, f"{name}.ip"),
        port=_number(parts, f"{name}.port"),
        state=_text(parts, f"{name}.state"),
        acknowledged_offset=_number(parts, f"{name}.offset"),
        lag_s=_number(parts, f"{name}.lag"),
    )


def _section(sections: Sections, name: str) -> Section:
    if name not in sections:
        raise InfoError(f"INFO has no section {name!r}; ask the server for 'INFO {name}'")
    return sections[name]


def _text(fields: Section, name: str) -> str:
    if name not in fields:
        raise InfoError(f"INFO has no field {name!r}; expected it in every supported version of Valkey")
    return fields[name]


def _number(fields: Section, name: str) -> int:
    value = _text(fields, name)
    if not _WHOLE_NUMBER.fullmatch(value):
        raise InfoError(f"INFO field {name!r} is {value!r}; expected a whole number")
    return int(value)


_Word = TypeVar("_Word", bound=enum.StrEnum)


def _one_of(words: type[_Word], fields: Section, name: str) -> _Word:
    value = _text(fields, name)
    if value not in list(words):
        raise InfoError(f"INFO field {name!r} is {value!r}; expected one of {', '.join(words)}")
    return words(value)


def _modern_role(fields: Section) -> Role:
    value = _text(fields, "role")
    return _one_of(Role, {"role": _NEW_WORDS.get(value, value)}, "role")


def _version(fields: Section) -> Version:
    value = _text(fields, "valkey_version")
    match = _VERSION.fullmatch(value)
    if not match:
        raise InfoError(f"INFO field 'valkey_version' is {value!r}; expected three numbers such as 9.1.2")
    return Version(int(match[1]), int(match[2]), int(match[3]))
