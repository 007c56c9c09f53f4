"""Where the API server is and who we are to it.

Owns: finding and reading a kubeconfig or the service account of the pod, and opening an HTTP session from it.
Refuses to know: what is asked over that session.
Invariant: whatever is wrong with the configuration becomes one `ConnectionSettingsError`, whose sentence names the
place, what stands there, and the remedy.
"""

import contextlib
import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
from lightkube.config.client_adapter import AsyncClient, Client, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster, Context, User
from lightkube.core.exceptions import ConfigError

Session = httpx2.AsyncClient
BlockingSession = httpx2.Client
ConnectionConfig = SingleConfig

REQUEST_TIMEOUT_S = 5.0
_HOME_KUBECONFIG = "~/.kube/config"
_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class ConnectionSettingsError(Exception):
    """The way to the API server is misconfigured; no retry will help, only the user can."""


_Entry = TypeVar("_Entry")


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster


class _NamedContext(msgspec.Struct):
    name: str
    context: Context


class _NamedUser(msgspec.Struct):
    name: str
    user: User | None = None


class _Kubeconfig(msgspec.Struct, rename="kebab"):
    # kubectl writes `clusters: null` into an empty kubeconfig.
    clusters: list[_NamedCluster] | None = None
    contexts: list[_NamedContext] | None = None
    users: list[_NamedUser] | None = None
    current_context: str | None = None


def load_connection(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> SingleConfig:
    """Take `kubeconfig` as given, else $KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    path = kubeconfig or environ.get("KUBECONFIG")
    if path is None and "KUBERNETES_SERVICE_HOST" in environ:
        return _from_service_account()
    source = "--kubeconfig" if kubeconfig else "KUBECONFIG" if path else "the default kubeconfig"
    return _from_file(Path(path or _HOME_KUBECONFIG).expanduser(), context, source)


def read_pod_namespace(path: Path = _POD_NAMESPACE) -> str | None:
    """The namespace of the pod that this process runs in; None outside of one."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def open_session(config: SingleConfig, transport: httpx2.AsyncBaseTransport | None = None) -> Session:
    """Make a session with the certificates and credentials of `config`; nothing is sent yet."""
    params = ConnectionParams(timeout=httpx2.Timeout(REQUEST_TIMEOUT_S), transport=transport)  # type: ignore[arg-type]
    with _sound_credentials(config):
        return AsyncClient(config, params)


def open_blocking_session(config: SingleConfig) -> BlockingSession:
    """Make a session of its own for a thread; nothing is sent yet."""
    with _sound_credentials(config):
        return Client(config, ConnectionParams(timeout=httpx2.Timeout(REQUEST_TIMEOUT_S)))


@contextlib.contextmanager
def _sound_credentials(config: SingleConfig) -> Iterator[None]:
    try:
        yield
    except (ssl.SSLError, OSError, ValueError, ConfigError) as error:
        raise ConnectionSettingsError(
            f"The certificates or credentials of context {config.context_name!r} in {config.fname} cannot be used: "
            f"{error}; write the kubeconfig anew."
        ) from error


def _from_service_account() -> SingleConfig:
    try:
        config = KubeConfig.from_service_account().get()
    except (ConfigError, KeyError) as error:
        raise ConnectionSettingsError(
            f"KUBERNETES_SERVICE_HOST is set, so this is a pod, but its service account cannot be used: {error}; "
            "set automountServiceAccountToken: true, or pass --kubeconfig."
        ) from error
    if config is None:
        raise ConnectionSettingsError("The pod's service account has no context; pass --kubeconfig.")
    return config


def _from_file(path: Path, context: str | None, source: str) -> SingleConfig:
    parsed = _read_kubeconfig(path, source)
    contexts = {entry.name: entry.context for entry in parsed.contexts or ()}
    name = context or parsed.current_context
    if not name:
        raise ConnectionSettingsError(
            f"Kubeconfig {path} sets no current-context; pass --context, one of: {_names(contexts)}."
        )
    field = "--context" if context else f"current-context of {path}"
    chosen = _pick(contexts, name, field)
    clusters = {entry.name: entry.cluster for entry in parsed.clusters or ()}
    users = {entry.name: entry.user for entry in parsed.users or ()}
    cluster = _pick(clusters, chosen.cluster, f"cluster of context {name!r} in {path}")
    user = _pick(users, chosen.user, f"user of context {name!r} in {path}") if chosen.user else None
    _check_server(cluster.server, path)
    # lightkube asserts that there is a user, also where the server asks for none.
    return SingleConfig(context_name=name, context=chosen, cluster=cluster, user=user or User(), fname=path)


def _read_kubeconfig(path: Path, source: str) -> _Kubeconfig:
    if source == "KUBECONFIG" and os.pathsep in str(path):
        raise ConnectionSettingsError(f"KUBECONFIG is {str(path)!r}, several files; name one of them by --kubeconfig.")
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=_Kubeconfig)
    except OSError as error:
        raise ConnectionSettingsError(
            f"{source} is {str(path)!r}, which cannot be read: {error.strerror}; "
            "name a readable file by --kubeconfig or KUBECONFIG."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ConnectionSettingsError(
            f"{source} is {str(path)!r}, which is not a kubeconfig: {reason}; correct the file or name another one."
        ) from error


def _pick(choices: Mapping[str, _Entry], name: str, field: str) -> _Entry:
    if name not in choices:
        raise ConnectionSettingsError(
            f"{field} is {name!r}, which the kubeconfig does not define; choose one of: {_names(choices)}."
        )
    return choices[name]


def _names(choices: Mapping[str, object]) -> str:
    return ", ".join(sorted(choices)) or "(none is defined)"


def _check_server(server: str, path: Path) -> None:
    try:
        parts = urlsplit(server)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConnectionSettingsError(
            f"cluster.server in {path} is {server!r}; write an address such as https://10.0.0.1:6443."
        )
