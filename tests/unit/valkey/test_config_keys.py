"""Which directives belong to the operator, and which need a new process."""

import pytest

from valkey_operator.valkey.config_keys import OWNED, needs_restart, replacement_for
from valkey_operator.valkey.config_names import may_exist
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


def test_a_name_is_known_from_its_version_on() -> None:
    assert not may_exist("import-mode", Version(8, 0, 2))
    assert may_exist("import-mode", Version(8, 1, 0))
    assert not may_exist("maxmemroy", None)


def test_names_of_modules_and_of_later_versions_are_not_judged() -> None:
    assert may_exist("search.threads", Version(8, 0, 2))
    assert may_exist("anything", Version(10, 0, 0))
