"""What is known of directives that change while a server runs is what the servers of each version do."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import valkey

from tests.valkey.servers import running
from tests.valkey.test_conf import refuses, version_of
from valkey_operator.valkey.conf import Directive, render_conf
from valkey_operator.valkey.config_defaults import ALIASES, DEFAULTS
from valkey_operator.valkey.config_keys import ONLY_IN_FILES, needs_restart
from valkey_operator.valkey.live import is_as_asked

pytestmark = pytest.mark.every_version

OTHER_WAYS = [
    ("maxmemory", "64mb"),
    ("repl-backlog-size", "2MB"),
    ("client-query-buffer-limit", "1gb"),
    ("auto-aof-rewrite-min-size", "3k"),
    ("maxmemory-clients", "5%"),
    ("maxmemory-policy", "ALLKEYS-LRU"),
    ("save", "900 1 300 10"),
    ("latency-tracking-info-percentiles", "50.0 99.90"),
    ("notify-keyspace-events", "KEA"),
    ("notify-keyspace-events", "Eg$lshzxetd"),
    ("client-output-buffer-limit", f"{DEFAULTS['client-output-buffer-limit']} replica 1mb 512kb 60"),
    ("oom-score-adj-values", "0 100 200"),
    ("appendonly", "YES"),
    ("slowlog-log-slower-than", "-1"),
]


def another(value: str) -> str:
    return {"yes": "no", "no": "yes"}.get(value) or str(int(value) + 1)


def test_a_directive_that_nobody_sets_has_the_value_that_is_known(version: str) -> None:
    with running(version, bare=True) as server, server.client() as client:
        found = client.config_get("*")
    known = {name: value for name, value in DEFAULTS.items() if name in found}
    assert {name: found[name] for name in known} == known


def test_every_live_directive_takes_its_built_in_value_all_of_them_at_once(version: str) -> None:
    with running(version) as server, server.client() as client:
        known = {name: value for name, value in DEFAULTS.items() if name in client.config_get("*")}
        client.execute_command("CONFIG", "SET", *itertools.chain.from_iterable(known.items()))
        assert client.config_get(*known) == known


def test_a_directive_that_no_list_shows_is_taken_all_the_same(version: str) -> None:
    with running(version) as server, server.client() as client:
        name = "cluster-ping-interval"
        assert client.config_get(name) == {name: DEFAULTS[name]}
        assert client.config_set(name, "500")
        assert client.config_get(name) == {name: "500"}


def test_an_alias_is_the_same_directive(version: str) -> None:
    with running(version) as server, server.client() as client:
        found = client.config_get("*")
        for alias, name in ALIASES.items():
            if alias not in found:
                continue
            assert found[alias] == found[name], (alias, name)
            client.config_set(alias, another(found[alias]))
            assert client.config_get(name) == {name: another(found[alias])}


def test_there_are_no_other_aliases(version: str) -> None:
    """Whatever moves when a number or a switch is changed is an alias. Those that the operator owns have no default."""
    with running(version) as server, server.client() as client:
        before = client.config_get("*")
        moved = {name: others for name in DEFAULTS if (others := moved_with(client, name, before))}
    wanted = {alias: name for alias, name in ALIASES.items() if alias in before and name in DEFAULTS}
    assert {alias: name for name, others in moved.items() for alias in others} == wanted


def moved_with(client: valkey.Valkey, name: str, before: dict[str, str]) -> set[str]:
    value = before.get(name, "")
    if value not in ("yes", "no") and not value.lstrip("-").isdecimal():
        return set()
    if refuses(client, name, another(value)):
        return set()
    after: Any = client.config_get("*")
    client.config_set(name, value)
    return {other for other, was in before.items() if after[other] != was} - {name}


def test_what_is_read_back_is_recognised_as_what_was_asked(version: str) -> None:
    with running(version) as server, server.client() as client:
        for name, value in OTHER_WAYS:
            client.config_set(name, value)
            read = client.config_get(name)[name]
            assert is_as_asked(name, value, read), (name, value, read)


def test_a_value_that_a_server_cuts_down_is_recognised_as_another(version: str) -> None:
    with running(version) as server, server.client() as client:
        client.config_set("hz", "1000")
        assert not is_as_asked("hz", "1000", client.config_get("hz")["hz"])


def values() -> Iterator[Directive]:
    for name in ONLY_IN_FILES:
        yield Directive(name, ("2" if name == "events-per-io-thread" else "yes",))


def test_what_a_later_version_only_reads_in_its_file_is_known(version: str, tmp_path: Path) -> None:
    file = tmp_path / "extra.conf"
    file.write_text(render_conf(values()))
    with running(version, include=str(file)) as server, server.client() as client:
        release = version_of(server)
        refused = {name for name, (value,) in values() if refuses(client, name, value)}
    assert refused == {name for name in ONLY_IN_FILES if needs_restart(name, release)}


def test_a_set_of_which_one_value_is_wrong_changes_nothing_and_the_answer_names_it(version: str) -> None:
    with running(version) as server, server.client() as client:
        with pytest.raises(valkey.ResponseError, match=r"'maxmemory'.*argument must be a memory value"):
            client.execute_command("CONFIG", "SET", "hz", "50", "maxmemory", "lots", "timeout", "7")
        assert client.config_get("hz", "timeout") == {"hz": "10", "timeout": "0"}
