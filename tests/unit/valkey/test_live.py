"""Directives as a running server takes them, and whether it has what it was asked to have."""

import pytest

from valkey_operator.valkey.conf import parse_conf
from valkey_operator.valkey.live import by_name, is_as_asked, live_settings, settings_digest


def taken(text: str) -> dict[str, str]:
    return live_settings(by_name(parse_conf(text)))


def test_only_what_a_running_server_takes_is_among_them() -> None:
    text = "maxmemory 64mb\ndatabases 3\nio-threads 4\nreplica-announce-ip 10.0.0.1\nsearch.workers 2\n"
    assert taken(text) == {"maxmemory": "64mb"}


def test_the_field_that_the_fence_uses_is_not_among_them() -> None:
    assert taken("min-replicas-to-write 1\n") == {}


def test_of_several_lines_the_last_counts_unless_they_add_up() -> None:
    assert taken("hz 10\nHZ 20\n") == {"hz": "20"}
    assert taken('save ""\nsave 900 1\nsave "300  10"\n') == {"save": "900 1 300 10"}
    assert taken('save ""\n') == {"save": ""}


def test_a_class_of_buffers_that_is_not_named_has_its_built_in_limit() -> None:
    [limits] = taken("client-output-buffer-limit normal 1mb 2mb 60\n").values()
    assert limits == "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60 normal 1mb 2mb 60"


def test_other_names_of_a_directive_are_the_same_directive() -> None:
    assert taken("replica-priority 1\nslave-priority 2\nSlowlog-Max-Len 5\n") == {
        "replica-priority": "2",
        "slowlog-max-len": "5",
    }


def test_the_order_of_directives_makes_no_difference_and_a_value_does() -> None:
    assert settings_digest(taken("hz 10\nmaxmemory 1gb\n")) == settings_digest(taken("maxmemory 1gb\nhz 10\n"))
    assert settings_digest(taken("hz 10\n")) != settings_digest(taken("hz 11\n"))
    assert settings_digest({}) != settings_digest({"hz": "10"})


@pytest.mark.parametrize(
    ("name", "asked", "read"),
    [
        ("maxmemory", "64mb", "67108864"),
        ("maxmemory", "1K", "1000"),
        ("loglevel", "NOTICE", "notice"),
        ("save", "900 1  300 10", "900 1 300 10"),
        ("latency-tracking-info-percentiles", "50.0 99.90", "50 99.9"),
        ("notify-keyspace-events", "KEA", "AKE"),
        ("notify-keyspace-events", "Eg$lshzxetd", "AE"),
        ("client-output-buffer-limit", "normal 0 0 0 normal 1mb 2mb 60", "normal 1048576 2097152 60"),
        ("client-output-buffer-limit", "replica 1mb 0 0", "slave 1048576 0 0"),
    ],
)
def test_a_server_may_write_a_value_its_own_way(name: str, asked: str, read: str) -> None:
    assert is_as_asked(name, asked, read)


@pytest.mark.parametrize(
    ("name", "asked", "read"),
    [
        ("hz", "1000", "500"),
        ("maxmemory", "64mb", "64000000"),
        ("appendonly", "yes", "no"),
        ("notify-keyspace-events", "KEA", "KE"),
        ("client-output-buffer-limit", "normal 1mb 0 0", "normal 0 0 0"),
    ],
)
def test_another_value_is_seen(name: str, asked: str, read: str) -> None:
    assert not is_as_asked(name, asked, read)
