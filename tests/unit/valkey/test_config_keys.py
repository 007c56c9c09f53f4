"""Which directives belong to the operator, and which need a new process."""

import pytest

from valkey_operator.valkey.config_defaults import ALIASES, DEFAULTS, main_name
from valkey_operator.valkey.config_keys import (
    OWNED,
    Change,
    how_it_changes,
    is_live,
    needs_restart,
    replacement_for,
)
from valkey_operator.valkey.config_names import NAMES_SINCE, may_exist
from valkey_operator.valkey.info import Version


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("bind", "service"),
        ("BIND", "service"),
        ("tls-cert-file", "tls"),
        ("unixsocket", "nothing"),
        ("unixsocketperm", "nothing"),
        ("requirepass", "auth.password"),
        ("user", "auth.acl.users"),
        ("loadmodule", "modules"),
        ("cluster-announce-ip", "Service"),
        ("slave-announce-port", "Service"),
        ("enable-debug-command", "permissions"),
    ],
)
def test_an_owned_directive_has_a_field_to_use_instead(key: str, instead: str) -> None:
    assert instead in (replacement_for(key) or "")


@pytest.mark.parametrize(
    "key", ["maxmemory", "save", "users", "portable", "enable-command", "cluster-node-timeout", "tls"]
)
def test_any_other_directive_may_be_set(key: str) -> None:
    assert replacement_for(key) is None


def test_no_pattern_has_more_than_one_star() -> None:
    assert all(pattern.count("*") <= 1 for pattern in OWNED)


def test_whether_a_change_needs_a_restart_depends_on_the_version() -> None:
    assert needs_restart("io-threads", Version(8, 1, 4))
    assert not needs_restart("io-threads", Version(9, 1, 0))
    assert needs_restart("databases", Version(9, 1, 0))
    assert not needs_restart("maxmemory", Version(8, 0, 0))


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("maxmemory", Change.LIVE),
        ("SAVE", Change.LIVE),
        ("databases", Change.RESTART),
        ("io-threads", Change.RESTART),  # 8.0 cannot
        ("dynamic-hz", Change.RESTART),  # 8.1 reads it in a file, and knows it nowhere else
        ("search.workers", Change.RESTART),
        ("no-such-directive", Change.RESTART),
        ("port", Change.OWNED),
        ("min-replicas-to-write", Change.OWNED),
    ],
)
def test_a_change_is_live_where_every_version_takes_it_and_a_restart_where_that_is_not_known(
    key: str, change: Change
) -> None:
    assert how_it_changes(key) is change


def test_every_live_directive_has_a_built_in_value_to_go_back_to() -> None:
    known = {main_name(name) for names in NAMES_SINCE.values() for name in names if is_live(name)}
    assert known == set(DEFAULTS)


def test_an_alias_leads_to_a_name_that_every_version_with_the_alias_has() -> None:
    for alias, name in ALIASES.items():
        assert name not in ALIASES
        since = min(release for release, names in NAMES_SINCE.items() if alias in names)
        assert min(release for release, names in NAMES_SINCE.items() if name in names) <= since


def test_a_name_is_known_from_its_version_on() -> None:
    assert not may_exist("import-mode", Version(8, 0, 2))
    assert may_exist("import-mode", Version(8, 1, 0))
    assert not may_exist("maxmemroy", None)


def test_names_of_modules_and_of_later_versions_are_not_judged() -> None:
    assert may_exist("search.threads", Version(8, 0, 2))
    assert may_exist("anything", Version(10, 0, 0))
