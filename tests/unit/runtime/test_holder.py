import pytest

from valkey_operator.runtime.holder import address_in, holder_name, join_address


@pytest.mark.parametrize("host", ["10.0.0.7", "fd00::7"])
def test_the_address_of_a_holder_is_read_back(host: str) -> None:
    address = join_address(host, 9444)
    assert address_in(holder_name("operator-7d9", "5f2c", address)) == address
    assert address_in(holder_name("a_b", "5f2c", address)) == address


@pytest.mark.parametrize(
    "holder",
    [
        "",
        "operator-7d9",
        "operator-7d9_5f2c",
        "operator-7d9_5f2c_10.0.0.7",
        "operator-7d9_5f2c_10.0.0.7:0",
        "operator-7d9_5f2c_10.0.0.7:65536",
        "operator-7d9_5f2c_10.0.0.777:1",
        "operator-7d9_5f2c_evil.example:9444",
        "operator-7d9_5f2c_10.0.0.7:9444 ",
        "(deleted by hand)",
    ],
)
def test_a_name_of_another_form_has_none(holder: str) -> None:
    assert address_in(holder) is None
