"""Laws of valkey.conf: whatever is written is read back, and a value never becomes a directive."""

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from valkey_operator.valkey.conf import ConfError, Directive, parse_conf, render_conf

names = st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
directives = st.lists(st.builds(Directive, names, st.lists(values, max_size=4).map(tuple)), max_size=8)


@given(directives)
@example([Directive("a", ('"\n"',)), Directive("a", ("\\", "", "# x"))])
def test_what_was_written_is_what_is_read(written: list[Directive]) -> None:
    assert parse_conf(render_conf(written)) == written


@given(directives)
def test_there_are_as_many_lines_as_directives_and_each_is_plain_ascii(written: list[Directive]) -> None:
    text = render_conf(written)
    assert text.isascii()
    assert len(text.splitlines()) == len(written)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("key \0 word")
@example("\f")
def test_any_text_is_read_or_refused_and_never_fails_otherwise(text: str) -> None:
    with contextlib.suppress(ConfError):
        parse_conf(text)
