"""The directives of a server: the operator's own < modelled fields < configFrom in its order < config."""

from typing import Any

import pytest

from tests.support.render import effective
from valkey_operator.core.render.directives import Origin, directives_for, listed, origin_of, with_live_of
from valkey_operator.valkey.conf import Directive, parse_conf, render_conf

MAPS = {"one": {"hz": "20", "maxmemory": "1gb", "appendfsync": "no"}, "two": {"hz": "30"}}
NO_FIELD = {"repl-diskless-sync-delay", "replica-ignore-disk-write-errors"}


def directives(**spec: Any) -> dict[str, list[str]]:
    return directives_for(effective(**spec), MAPS)


def test_modelled_fields_become_directives() -> None:
    assert directives() == {
        "save": ["900 1 300 10 60 10000"],
        "rdbcompression": ["yes"],
        "appendonly": ["no"],
        "appendfsync": ["everysec"],
        "auto-aof-rewrite-percentage": ["100"],
        "auto-aof-rewrite-min-size": ["64mb"],
        "replica-ignore-disk-write-errors": ["yes"],
        "repl-diskless-sync": ["yes"],
        "repl-diskless-sync-delay": ["0"],
        "min-replicas-to-write": ["0"],
        "min-replicas-max-lag": ["10"],
    }


@pytest.mark.parametrize(
    "persistence", [{"rdb": {"enabled": False}}, {"enabled": False}, {"rdb": {"enabled": True, "savePolicy": []}}]
)
def test_without_snapshots_the_servers_own_save_points_are_taken_away(persistence: dict[str, Any]) -> None:
    assert directives(persistence=persistence)["save"] == [""]
    text = render_conf(listed(directives(persistence=persistence)))
    assert Directive("save", ("",)) in parse_conf(text)


@pytest.mark.parametrize(("given", "said"), [("64mb", "64mb"), (1048576, "1048576")])
def test_the_backlog_is_the_servers_own_unless_it_is_given(given: str | int, said: str) -> None:
    assert "repl-backlog-size" not in directives()
    assert directives(replication={"backlogSize": given})["repl-backlog-size"] == [said]


class TestPrecedence:
    """Later ones win."""

    def test_config_from_wins_over_modelled_fields(self) -> None:
        assert directives(configFrom=[{"name": "one"}])["appendfsync"] == ["no"]

    def test_a_later_map_wins_over_an_earlier_one(self) -> None:
        assert directives(configFrom=[{"name": "one"}, {"name": "two"}])["hz"] == ["30"]
        assert directives(configFrom=[{"name": "two"}, {"name": "one"}])["hz"] == ["20"]

    def test_what_only_the_earlier_map_says_stays(self) -> None:
        assert directives(configFrom=[{"name": "one"}, {"name": "two"}])["maxmemory"] == ["1gb"]

    def test_config_wins_over_all(self) -> None:
        found = directives(configFrom=[{"name": "one"}], config={"hz": 40, "appendfsync": "always"})
        assert (found["hz"], found["appendfsync"]) == (["40"], ["always"])

    def test_names_are_the_same_in_any_case(self) -> None:
        found = directives(configFrom=[{"name": "one"}], config={"HZ": 40, "AppendFsync": "always"})
        assert (found["hz"], found["appendfsync"]) == (["40"], ["always"])
        assert not any(name != name.lower() for name in found)

    def test_another_name_of_a_directive_is_the_same_directive(self) -> None:
        maps = {"one": {"replica-priority": "1"}}
        found = directives_for(effective(configFrom=[{"name": "one"}], config={"Slave-Priority": 2}), maps)
        assert found["replica-priority"] == ["2"]
        assert "slave-priority" not in found

    def test_a_map_that_is_not_there_says_nothing(self) -> None:
        assert directives(configFrom=[{"name": "missing"}]) == directives()


@pytest.mark.parametrize(
    ("given", "said"), [(True, "yes"), (False, "no"), (3, "3"), (3.0, "3"), (0.5, "0.5"), ("a b", "a b"), ("", "")]
)
def test_values_are_said_in_valkeys_words(given: Any, said: str) -> None:
    assert directives(config={"x": given})["x"] == [said]


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("hz", Origin("spec.config.HZ", 40)),
        ("maxmemory", Origin("spec.configFrom[one].maxmemory", "1gb")),
        ("replica-priority", Origin("spec.config.slave-priority", 7)),
        ("auto-aof-rewrite-min-size", Origin("spec.persistence.aof.rewriteMinSize", "64mb")),
        ("min-replicas-to-write", Origin("spec.replication.minReplicasToWrite", 0)),
        ("timeout", Origin("spec.config.timeout", None)),
    ],
)
def test_the_place_that_counts_is_found_for_a_directive(name: str, origin: Origin) -> None:
    spec = effective(configFrom=[{"name": "one"}], config={"HZ": 40, "slave-priority": 7})
    assert origin_of(name, spec, MAPS) == origin


def test_every_directive_of_a_field_leads_back_to_it() -> None:
    for name in directives(replication={"backlogSize": 1}):
        field = origin_of(name, effective(replication={"backlogSize": 1}), {}).field
        assert "config" not in field or name in NO_FIELD, name


def test_settings_that_are_not_proven_leave_the_former_ones_and_what_needs_a_restart_is_new() -> None:
    former = {"databases": ["3"], "hz": ["10"], "timeout": ["5"]}
    wanted = {"databases": ["4"], "hz": ["20"], "maxmemory": ["1gb"]}
    assert with_live_of(former, wanted) == {"databases": ["4"], "hz": ["10"], "timeout": ["5"]}


TWICE = {"client-output-buffer-limit": ["normal 0 0 0", "pubsub 1 1 1"]}


class TestLists:
    """A list repeats its directive."""

    def test_each_value_is_a_line(self) -> None:
        found = directives(config=TWICE)
        assert found["client-output-buffer-limit"] == ["normal 0 0 0", "pubsub 1 1 1"]
        lines = [line for line in listed(found) if line.name == "client-output-buffer-limit"]
        assert lines == [
            Directive(line.name, (value,)) for line, value in zip(lines, found[lines[0].name], strict=True)
        ]
        assert len(lines) == 2

    def test_a_stronger_layer_replaces_all_of_them(self) -> None:
        weaker = {"m": {"client-output-buffer-limit": "replica 1 1 1"}}
        found = directives_for(effective(configFrom=[{"name": "m"}], config=TWICE), weaker)
        assert found["client-output-buffer-limit"] == ["normal 0 0 0", "pubsub 1 1 1"]


def test_no_value_can_begin_another_directive() -> None:
    evil = 'x"\nport 1\r\n#'
    text = render_conf(listed(directives(config={"proc-title-template": evil})))
    assert [line.arguments for line in parse_conf(text) if line.name == "proc-title-template"] == [(evil,)]
    assert not [line for line in parse_conf(text) if line.name == "port"]
