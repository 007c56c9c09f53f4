import pytest

from valkey_operator.agent.server import find_disk_error
from valkey_operator.valkey.info import InfoError, parse_persistence, parse_sections
from valkey_operator.valkey.states import DiskError

STOPS = {"stop-writes-on-bgsave-error": "yes", "save": "900 1"}


def section(**changes: object) -> str:
    fields = {
        "loading": 0,
        "async_loading": 0,
        "rdb_last_bgsave_status": "ok",
        "aof_enabled": 0,
        "aof_last_write_status": "ok",
        **changes,
    }
    return "# Persistence\r\n" + "".join(f"{name}:{value}\r\n" for name, value in fields.items())


@pytest.mark.parametrize(
    ("fields", "directives", "error"),
    [
        ({}, STOPS, None),
        ({"rdb_last_bgsave_status": "err"}, STOPS, DiskError.SNAPSHOT),
        ({"rdb_last_bgsave_status": "err"}, {**STOPS, "save": ""}, None),
        ({"rdb_last_bgsave_status": "err"}, {**STOPS, "stop-writes-on-bgsave-error": "no"}, None),
        # One that loads does not tell its directives.
        ({"rdb_last_bgsave_status": "err", "loading": 1}, {}, None),
        ({"aof_enabled": 1, "aof_last_write_status": "err"}, {}, DiskError.AOF),
        ({"aof_enabled": 0, "aof_last_write_status": "err"}, STOPS, None),
        ({"aof_enabled": 1, "aof_last_write_status": "err", "rdb_last_bgsave_status": "err"}, STOPS, DiskError.AOF),
    ],
)
def test_a_disk_error_is_one_for_which_the_server_refuses_writes(
    fields: dict[str, object], directives: dict[str, str], error: DiskError | None
) -> None:
    assert find_disk_error(parse_persistence(parse_sections(section(**fields))), directives) is error


def test_a_section_without_the_last_snapshot_is_an_error() -> None:
    with pytest.raises(InfoError, match="no field 'rdb_last_bgsave_status'"):
        parse_persistence(parse_sections("# Persistence\r\nloading:0\r\nasync_loading:0\r\n"))
