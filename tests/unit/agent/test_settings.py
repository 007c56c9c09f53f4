from pathlib import Path

import pytest

from valkey_operator.agent.settings import AgentSettings, AgentSettingsError
from valkey_operator.cli.settings import parse_settings

NEEDED = {
    "VALKEY_AGENT_NAMESPACE": "shop",
    "VALKEY_AGENT_NODE": "cart-0",
    "VALKEY_AGENT_POD_UID": "uid",
    "VALKEY_AGENT_OPERATOR_NAMESPACE": "system",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def settings_of(*flags: str) -> AgentSettings:
    settings = parse_settings(["agent", *flags])
    assert isinstance(settings, AgentSettings)
    return settings


def test_what_a_pod_must_say_comes_from_the_environment_and_the_rest_has_defaults() -> None:
    settings = settings_of()
    assert (settings.namespace, settings.node, settings.pod_uid) == ("shop", "cart-0", "uid")
    assert (settings.gate, settings.data, settings.boot_conf) == (Path("/gate"), Path("/data"), Path("/boot/boot.conf"))
    assert (settings.operators, settings.password_file, settings.port) == ((), None, 6379)
    assert (settings.probe_host, settings.probe_port) == (None, 9080)


def test_a_flag_wins_over_the_environment() -> None:
    assert settings_of("--node", "cart-1", "--operator", "a:1,[::1]:2").node == "cart-1"
    assert settings_of("--operator", "a:1,[::1]:2").operators == ("a:1", "[::1]:2")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--node", ""], "--node is not set; give it, or set VALKEY_AGENT_NODE."),
        (["--port", "65536"], "--port has port '65536'; write a number up to 65535."),
        (["--probe-address", "9080"], "--probe-address is '9080', which is no address; write HOST:PORT."),
        (["--operator", ":1"], "--operator is ':1', which has no host; write HOST:PORT."),
        (["--password-file", "/nowhere"], "--password-file is '/nowhere', which cannot be read: "),
    ],
)
def test_a_wrong_setting_is_told_in_one_sentence(flags: list[str], sentence: str) -> None:
    with pytest.raises(AgentSettingsError) as caught:
        parse_settings(["agent", *flags])
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
