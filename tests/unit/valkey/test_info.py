import pytest

from tests.support import build
from tests.support.info_text import Dialect, render_info
from valkey_operator.valkey.info import (
    InfoError,
    LinkStatus,
    MemoryInfo,
    ReplicationInfo,
    Role,
    ServerMode,
    Version,
    parse_keys,
    parse_memory,
    parse_refused_writes,
    parse_replication,
    parse_sections,
    parse_server,
)


def replication_of(info: ReplicationInfo) -> ReplicationInfo:
    return parse_replication(parse_sections(render_info(build.server(), info)))


def test_sections_keep_every_field_also_unknown_ones() -> None:
    sections = parse_sections("# Server\r\nfuture_field:a:b\r\n\r\n# Keyspace\r\ndb0:keys=1\r\n")
    assert sections == {"server": {"future_field": "a:b"}, "keyspace": {"db0": "keys=1"}}


def test_fields_before_any_heading_are_kept_apart() -> None:
    assert parse_sections("role:master") == {"": {"role": "master"}}


def test_a_line_that_is_no_field_is_named_with_its_number() -> None:
    with pytest.raises(InfoError, match=r"line 2 is 'nonsense'; expected"):
        parse_sections("# Server\nnonsense\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("master_host", "primary_host"),
        ("slave0", "replica0"),
        ("connected_slaves", "connected_replicas"),
        ("slave_read_repl_offset", "replica_read_repl_offset"),
        ("primary_host", "primary_host"),
        ("mastery_level", "mastery_level"),
        ("webmaster_mail", "webmaster_mail"),
    ],
)
def test_old_words_become_new_ones_and_others_stay(old: str, new: str) -> None:
    assert parse_sections(f"# Replication\n{old}:x") == {"replication": {new: "x"}}


def test_a_primary_lists_its_replicas_in_the_servers_order_beyond_ten() -> None:
    replicas = tuple(build.connected_replica(port=7000 + number) for number in range(12))
    parsed = replication_of(build.primary(replicas=replicas))
    assert parsed.role is Role.PRIMARY
    assert parsed.primary_link is None
    assert [replica.port for replica in parsed.replicas] == list(range(7000, 7012))


def test_a_replica_whose_link_is_down_is_reported_as_down() -> None:
    link = replication_of(build.replica(status=LinkStatus.DOWN, down_for_s=3)).primary_link
    assert link is not None
    assert (link.status, link.down_for_s) == (LinkStatus.DOWN, 3)


def test_a_link_that_never_was_up_has_no_time_since() -> None:
    link = replication_of(build.replica(status=LinkStatus.DOWN, down_for_s=None)).primary_link
    assert link is not None
    assert link.down_for_s is None


def test_a_promoted_replica_remembers_the_former_replication_id() -> None:
    promoted = build.primary(former_replication_id="b" * 40, former_id_valid_below=15)
    assert replication_of(promoted) == promoted


def test_a_host_may_be_an_ipv6_address() -> None:
    replica = build.connected_replica(host="fd00::2")
    assert replication_of(build.primary(replicas=(replica,))).replicas == (replica,)


def test_the_words_of_a_future_server_are_understood() -> None:
    text = render_info(build.server(), build.replica(), Dialect.NEW)
    assert "master" not in text
    assert parse_replication(parse_sections(text)) == build.replica()


def test_versions_compare_by_age() -> None:
    assert Version(8, 0, 10) < Version(8, 1, 0) < Version(9, 1, 2)


def test_redis_mode_is_read_where_the_server_is_set_to_be_compatible() -> None:
    text = render_info(build.server(mode=ServerMode.CLUSTER), build.primary()).replace("server_mode", "redis_mode")
    assert parse_server(parse_sections(text)).mode is ServerMode.CLUSTER


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("role:master", "role:sentinel", "'role' is 'sentinel'; expected one of primary, replica"),
        ("role:master", "", "no field 'role'"),
        ("master_repl_offset:14", "master_repl_offset:1_4", "'primary_repl_offset' is '1_4'; expected a whole number"),
        ("state=online", "online", "'replica0' is '.*'; expected 'key=value' pairs"),
        ("offset=14,", "", "no field 'replica0.offset'"),
        ("# Replication", "# Other", "no section 'replication'; ask the server for 'INFO replication'"),
    ],
)
def test_a_malformed_replication_section_is_told_in_one_sentence(good: str, bad: str, sentence: str) -> None:
    text = render_info(build.server(), build.primary(replicas=(build.connected_replica(),)))
    assert good in text
    with pytest.raises(InfoError, match=sentence):
        parse_replication(parse_sections(text.replace(good, bad)))


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("valkey_version:9.1.2\r\n", "", "no field 'valkey_version'"),
        ("valkey_version:9.1.2", "valkey_version:9.1", "'valkey_version' is '9.1'; expected three numbers"),
        ("server_mode:standalone", "server_mode:odd", "'server_mode' is 'odd'; expected one of standalone, cluster"),
    ],
)
def test_a_malformed_server_section_is_told_in_one_sentence(good: str, bad: str, sentence: str) -> None:
    text = render_info(build.server(), build.primary())
    assert good in text
    with pytest.raises(InfoError, match=sentence):
        parse_server(parse_sections(text.replace(good, bad)))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# Errorstats\r\nerrorstat_ERR:count=2\r\nerrorstat_READONLY:count=3\r\n", 3),
        ("# Errorstats\r\nerrorstat_ERR:count=2\r\n", 0),
        ("# Errorstats\r\n", 0),
        ("", 0),
    ],
)
def test_writes_that_a_replica_refused_are_counted(text: str, count: int) -> None:
    assert parse_refused_writes(parse_sections(text)) == count


def test_memory_and_the_keys_of_all_databases_are_read() -> None:
    text = "# Memory\nused_memory:7\nmaxmemory:0\n# Keyspace\ndb0:keys=2,expires=1,avg_ttl=0\ndb11:keys=3,expires=0\n"
    sections = parse_sections(text)
    assert parse_memory(sections) == MemoryInfo(used_bytes=7, limit_bytes=0)
    assert parse_keys(sections) == 5
    assert parse_keys(parse_sections("# Keyspace\n")) == 0


def test_a_count_of_refused_writes_that_is_no_number_is_an_error() -> None:
    with pytest.raises(InfoError, match="errorstat_READONLY"):
        parse_refused_writes(parse_sections("# Errorstats\nerrorstat_READONLY:many\n"))
