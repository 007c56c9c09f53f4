from pathlib import Path
from typing import Any

import pytest

from tests.support.kubeconfig import kubeconfig, write_kubeconfig
from valkey_operator.kube.connection import ConnectionSettingsError, load_connection, open_session


def test_the_current_context_is_used(tmp_path: Path) -> None:
    config = load_connection(str(write_kubeconfig(tmp_path, kubeconfig())), None, {})
    assert config.cluster.server == "https://192.0.2.1:6443"
    assert config.namespace == "team"
    assert config.user is not None
    assert config.user.token == "secret"


def test_the_flag_wins_over_the_environment(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig())
    environ = {"KUBECONFIG": "/nowhere", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert load_connection(str(path), None, environ).fname == path


def test_the_environments_kubeconfig_wins_over_the_pods_service_account(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig())
    assert load_connection(None, None, {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}).fname == path


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    contexts = [{"name": "anyone", "context": {"cluster": "here"}}]
    path = write_kubeconfig(tmp_path, kubeconfig(contexts=contexts))
    assert "Authorization" not in open_session(load_connection(str(path), "anyone", {})).headers


def test_a_pod_without_a_service_account_is_told_to_mount_one() -> None:
    with pytest.raises(ConnectionSettingsError, match="automountServiceAccountToken: true"):
        load_connection(None, None, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


def test_a_missing_file_is_named_with_the_flag(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(
        ConnectionSettingsError, match=f"--kubeconfig is '{missing}', which cannot be read: No such file"
    ):
        load_connection(str(missing), None, {})


def test_several_files_in_the_environment_are_refused() -> None:
    with pytest.raises(ConnectionSettingsError, match="KUBECONFIG is 'a:b', several files; name one"):
        load_connection(None, None, {"KUBECONFIG": "a:b"})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "not a kubeconfig: Expected `object`, got `null`"),
        ("{", "not a kubeconfig"),
        ("\x00\x01", "not a kubeconfig"),
        (kubeconfig(clusters="here"), r"Expected `array \| null`, got `str` - at `\$.clusters`"),
        (kubeconfig(clusters=[{"cluster": {}}]), "missing required field `name`"),
        (kubeconfig(clusters=None), r"cluster of context 'admin@here' in .* is 'here', .*\(none is defined\)"),
        (kubeconfig(users=[{"name": "eve"}]), "user of context 'admin@here' in .* is 'admin', .* one of: eve"),
        (kubeconfig(current_context="nobody"), "current-context of .* is 'nobody', .* one of: admin@here"),
        (kubeconfig(current_context=None), "sets no current-context; pass --context, one of: admin@here"),
        (kubeconfig(server="192.0.2.1:6443"), "cluster.server in .* is '192.0.2.1:6443'; write an address such as"),
        (kubeconfig(server="https://x:99999"), "cluster.server in .* is 'https://x:99999'"),
    ],
)
def test_a_malformed_kubeconfig_is_told_in_one_sentence(
    tmp_path: Path, content: str | dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConnectionSettingsError, match=sentence) as caught:
        load_connection(str(write_kubeconfig(tmp_path, content)), None, {})
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_context_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, kubeconfig())
    with pytest.raises(ConnectionSettingsError, match=r"--context is 'typo', .* choose one of: admin@here"):
        load_connection(str(path), "typo", {})


@pytest.mark.parametrize("certificate", ["bm90IGEgY2VydGlmaWNhdGU=", "not base64"])
def test_an_unusable_certificate_is_told_before_anything_is_sent(tmp_path: Path, certificate: str) -> None:
    clusters = [{"name": "here", "cluster": {"server": "https://x", "certificate-authority-data": certificate}}]
    config = load_connection(str(write_kubeconfig(tmp_path, kubeconfig(clusters=clusters))), None, {})
    with pytest.raises(ConnectionSettingsError, match="certificates or credentials of context 'admin@here'"):
        open_session(config)
