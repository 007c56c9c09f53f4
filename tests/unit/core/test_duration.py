import pytest

from valkey_operator.core.duration import parse_duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("5s", 5000), ("250ms", 250), ("2m", 120_000), ("1h", 3_600_000), ("0s", 0)]
)
def test_a_duration_is_read_in_milliseconds(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "5 s", "5d", "1.5s", "\u0665s"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 15s"):
        parse_duration_ms(text)
