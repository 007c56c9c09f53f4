import pytest

from valkey_operator.cli.settings import HealthAddress, OperatorSettings, parse_settings


def settings_of(*flags: str) -> OperatorSettings:
    settings = parse_settings(["operator", *flags])
    assert isinstance(settings, OperatorSettings)
    return settings


def test_without_flags_everything_has_a_default() -> None:
    assert settings_of() == OperatorSettings(
        kubeconfig=None,
        context=None,
        namespace=None,
        operator_namespace=None,
        health_address=HealthAddress(None, 8081),
        log_level="info",
    )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9000", HealthAddress(None, 9000)),
        ("127.0.0.1:0", HealthAddress("127.0.0.1", 0)),
        ("[::1]:9000", HealthAddress("::1", 9000)),
    ],
)
def test_the_health_address_has_an_optional_host(text: str, address: HealthAddress) -> None:
    assert settings_of("--health-address", text).health_address == address


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["operator", "--health-address", "8081"], "--health-address: '8081' is not an address; write [HOST]:PORT"),
        (["operator", "--health-address", ":65536"], "--health-address: ':65536' is not an address"),
        (["operator", "--namespace", "a/b"], "--namespace: 'a/b' is not a namespace"),
        (["operator", "--operator-namespace", "A"], "--operator-namespace: 'A' is not a namespace"),
        (["operator", "--log-level", "loud"], "--log-level: invalid choice: 'loud'"),
        (["operator", "--kube", "x"], "Unrecognized arguments: --kube x"),
        (["operator", "--context"], "--context: expected one argument"),
        (["dance"], "invalid choice: 'dance'"),
        ([], "The following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_settings(arguments)
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "--help'" in told
    assert told.count("\n") == 1
