from pathlib import Path

import pytest

from valkey_operator.cli.settings import ListenAddress, OperatorSettings, parse_settings


def settings_of(*flags: str) -> OperatorSettings:
    settings = parse_settings(["operator", *flags])
    assert isinstance(settings, OperatorSettings)
    return settings


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POD_IP", "VALKEY_OPERATOR_IMAGE"):
        monkeypatch.delenv(name, raising=False)


def test_without_flags_everything_has_a_default() -> None:
    assert settings_of() == OperatorSettings(
        kubeconfig=None,
        context=None,
        namespace=None,
        operator_namespace=None,
        health_address=ListenAddress(None, 8081),
        report_address=ListenAddress(None, 9444),
        advertise=None,
        report_service=None,
        agent_image="valkey-operator:dev",
        tls_dir=None,
        log_level="info",
    )


def test_flags_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    monkeypatch.setenv("VALKEY_OPERATOR_IMAGE", "registry/operator:1")
    inherited = settings_of()
    assert (inherited.advertise, inherited.agent_image) == ("10.0.0.7", "registry/operator:1")
    chosen = settings_of("--advertise", "fd00::7", "--agent-image", "mine:2", "--tls-dir", "/run/tls")
    assert (chosen.advertise, chosen.agent_image, chosen.tls_dir) == ("fd00::7", "mine:2", Path("/run/tls"))


def test_a_wrong_environment_is_told_like_a_wrong_flag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POD_IP", "here")
    with pytest.raises(SystemExit):
        settings_of()
    assert "--advertise: 'here' is not an IP address" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9000", ListenAddress(None, 9000)),
        ("127.0.0.1:0", ListenAddress("127.0.0.1", 0)),
        ("[::1]:9000", ListenAddress("::1", 9000)),
    ],
)
def test_the_health_address_has_an_optional_host(text: str, address: ListenAddress) -> None:
    assert settings_of("--health-address", text).health_address == address


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["operator", "--health-address", "8081"], "--health-address: '8081' is not an address; write [HOST]:PORT"),
        (["operator", "--health-address", ":65536"], "--health-address: ':65536' is not an address"),
        (["operator", "--report-address", "9444"], "--report-address: '9444' is not an address"),
        (["operator", "--advertise", "localhost"], "--advertise: 'localhost' is not an IP address"),
        (["operator", "--report-service", ":9444"], "--report-service: ':9444' names no host or no port"),
        (["operator", "--report-service", "a.svc:0"], "--report-service: 'a.svc:0' names no host or no port"),
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
