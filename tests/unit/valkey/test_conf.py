"""valkey.conf as text: one directive on each line, whatever the value."""

import pytest

from valkey_operator.api.fields import ConfigValue
from valkey_operator.valkey.conf import ConfError, Directive, directives_of, parse_conf, render_conf, render_value

QUOTED = [
    ("plain", "plain"),
    ("", '""'),
    ("two words", '"two words"'),
    ('say "hi"', r'"say \"hi\""'),
    ("it's", '"it\'s"'),
    ("back\\slash", r'"back\\slash"'),
    ("# no comment", '"# no comment"'),
    ("line\nport 1", r'"line\x0aport 1"'),
    ("tab\t", r'"tab\x09"'),
    ("ü", r'"\xc3\xbc"'),
    ("\x01\x7f", r'"\x01\x7f"'),
]


@pytest.mark.parametrize(("value", "text"), QUOTED)
def test_a_value_is_written_so_that_it_stays_one_word(value: str, text: str) -> None:
    assert render_conf([Directive("key", (value,))]) == f"key {text}\n"


READ = [
    ("save 900 1", "save", ("900", "1")),
    ("  MaxMemory\t2gb \r", "maxmemory", ("2gb",)),
    ('key "a\\n\\r\\t\\b\\a\\q"', "key", ("a\n\r\t\b\aq",)),
    ("key 'single \\' \\n quotes'", "key", ("single ' \\n quotes",)),
    ('key "\\x41\\xZZ"', "key", ("AxZZ",)),
    ('key pre"fix" next', "key", ("prefix", "next")),
    ('key ""', "key", ("",)),
]


@pytest.mark.parametrize(("line", "name", "arguments"), READ)
def test_a_line_is_read_as_valkey_reads_it(line: str, name: str, arguments: tuple[str, ...]) -> None:
    assert parse_conf(line) == [Directive(name, arguments)]


@pytest.mark.parametrize("line", ['key "open', "key 'open", 'key "a"b', "key 'a'b", 'key "a\\'])
def test_unbalanced_quotes_are_refused(line: str) -> None:
    with pytest.raises(ConfError, match="unbalanced quotes"):
        parse_conf(line)


def test_comments_and_empty_lines_say_nothing() -> None:
    assert parse_conf("# comment\n\n   \n  # another\nport 1\n") == [Directive("port", ("1",))]


def test_a_nul_is_refused_because_a_server_would_cut_the_value_off() -> None:
    with pytest.raises(ConfError, match="the value of key holds a NUL"):
        render_conf([Directive("key", ("a\0b",))])


@pytest.mark.parametrize("name", ["", "two words", "line\nbreak", '"quoted"', "#hash", "ü"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfError, match="no name of a directive"):
        render_conf([Directive(name, ("value",))])


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (False, "no"), (300, "300"), (0.5, "0.5"), (2.0, "2"), ("10mb", "10mb")]
)
def test_a_value_of_a_manifest_is_said_in_valkeys_words(value: bool | float | str, text: str) -> None:
    assert render_value(value) == text


def test_a_list_repeats_its_directive() -> None:
    config: dict[str, ConfigValue] = {
        "client-output-buffer-limit": ["normal 0 0 0", "pubsub 32mb 8mb 60"],
        "timeout": 300,
    }
    assert directives_of(config) == [
        Directive("client-output-buffer-limit", ("normal 0 0 0",)),
        Directive("client-output-buffer-limit", ("pubsub 32mb 8mb 60",)),
        Directive("timeout", ("300",)),
    ]
