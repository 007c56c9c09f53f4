from pathlib import Path

import pytest

from valkey_operator.agent.settings import AgentSettings, AgentSettingsError, RecordPlace
from valkey_operator.cli.settings import parse_settings

NEEDED = {
    "VALKEY_AGENT_NAMESPACE": "shop",
    "VALKEY_AGENT_NODE": "cart-0",
    "VALKEY_AGENT_POD_UID": "uid",
    "VALKEY_AGENT_OPERATOR_NAMESPACE": "system",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
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


def test_without_a_shard_no_record_is_read() -> None:
    settings = settings_of()
    assert (settings.record, settings.primary_wait_s) == (None, 5)


def test_the_record_of_a_cluster_is_read_too() -> None:
    settings = settings_of("--cluster", "cart", "--api-server", "10.96.0.1:443")
    assert settings.cluster == "cart"
    assert settings.record is not None
    assert settings.record.shard == "cart"


@pytest.mark.parametrize(
    ("environment", "flags", "api_server"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}, [], "10.96.0.1:443"),
        ({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, [], "[fd00::1]:443"),
        ({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, ["--api-server", "api:6443"], "api:6443"),
    ],
)
def test_the_record_of_a_shard_is_read_from_the_api_server_of_the_pod(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], flags: list[str], api_server: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert settings_of("--shard", "cart", *flags).record == RecordPlace(
        api_server=api_server, namespace="shop", shard="cart", token_dir=Path("/var/run/secrets/valkey-operator")
    )


def test_the_primary_is_found_by_its_service_in_the_domain_of_the_cluster() -> None:
    assert settings_of().primary_domain == "shop.svc"
    assert settings_of("--cluster-domain", "cluster.local").primary_domain == "shop.svc.cluster.local."


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--shard", "cart"], "--shard is set and --api-server is not; give it, or run in a pod."),
        (["--shard", "cart", "--api-server", "api"], "--api-server is 'api', which is no address; write HOST:PORT."),
        (["--primary-wait", "-1"], "--primary-wait is '-1'; write a number from 0 to 3600."),
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
