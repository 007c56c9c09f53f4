import pytest

from valkey_operator.core.quantity import parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10Gi", 10 * 2**30),
        ("1G", 10**9),
        (512, 512),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Mi", 1.5 * 2**20),
        ("1e3", 1000),
        ("2E", 2e18),
        ("500m", 0.5),
    ],
)
def test_a_quantity_is_a_number(text: str | int, value: float) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "10GB", "Gi", "-1", "1ki", "ten"])
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 10Gi"):
        parse_quantity(text)
