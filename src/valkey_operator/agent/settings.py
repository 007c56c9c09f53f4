"""What the agent is told: flags, each also as a variable of the environment.

Owns: names, defaults, and the sentence for each wrong one. Refuses to know: what the settings are used for.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import msgspec

from valkey_operator.valkey.boot import ModuleToLoad

_MOST_PORT = 65535
_MOST_NUMBER = 3600
_FRACTIONS = {"--primary-wait"}
_PREFIX = "VALKEY_AGENT_"
# Flag, its default (None: it must be set), its help.
_FLAGS = (
    ("--namespace", None, "namespace of the pod"),
    ("--node", None, "name of the node this pod is for, such as cart-0"),
    ("--pod-uid", None, "uid of the pod"),
    ("--operator-namespace", None, "namespace of the operator, whose orders are obeyed"),
    ("--operator", "", "host:port of the operators, parted by commas; a host name may stand for several"),
    ("--gate", "/gate", "folder shared with the server in memory"),
    ("--data", "/data", "folder of the server's data"),
    ("--tls", "/tls", "folder with tls.crt, tls.key and ca.crt"),
    ("--boot-conf", "/boot/boot.conf", "file the server is started with"),
    ("--settings-file", "", "the user's settings, read by the server at its start"),
    ("--password-file", "", "password of user default; none: no password"),
    ("--port", "6379", "port of the server"),
    ("--grpc-address", "[::]:9443", "where orders are taken"),
    ("--probe-address", ":9080", "where /livez, /readyz and /healthz are served"),
    ("--shard", "", "name of the ValkeyShard that decides about a start; none: only the operator does"),
    ("--cluster", "", "name of the ValkeyCluster, whose record gives leave and decides about no start"),
    ("--api-server", "", "host:port of the API server; else $KUBERNETES_SERVICE_HOST and _PORT"),
    ("--token-dir", "/var/run/secrets/valkey-operator", "folder with token and ca.crt for the API server"),
    ("--cluster-domain", "", "such as cluster.local; none: the pod's search domains are tried"),
    ("--modules", "", "modules to load, as JSON: [{path, args}]; none given: all of the image's own folder"),
    ("--primary-wait", "5", "longest wait of a replica's start for its primary's port, in seconds"),
    ("--peers", "", "host:port of the agents of the shard's nodes, a name that stands for all of them"),
    ("--peer-address", ":9445", "where they are answered"),
)


class AgentSettingsError(Exception):
    """A setting is wrong or missing; one sentence says which, and what to do."""


class RecordPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the record of the shard or cluster is, and with which files (token, ca.crt) it is asked for."""

    api_server: str
    namespace: str
    shard: str
    token_dir: Path


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `valkey-operator agent`."""

    namespace: str
    node: str
    pod_uid: str
    operator_namespace: str
    operators: tuple[str, ...]
    gate: Path
    data: Path
    tls: Path
    boot_conf: Path
    settings_file: Path | None
    password_file: Path | None
    modules: tuple[ModuleToLoad, ...] | None
    port: int
    grpc_address: str
    probe_host: str | None
    probe_port: int
    record: RecordPlace | None
    """Of the shard, or of the whole cluster."""
    cluster: str
    primary_domain: str
    primary_wait_s: float
    peers: str
    peer_host: str | None
    peer_port: int
    log_level: str


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags; what is not given comes from the environment later."""
    for flag, default, text in _FLAGS:
        shown = f"; default {default}" if default else ""
        parser.add_argument(flag, metavar="VALUE", help=f"{text} (else ${_variable(flag)}{shown})")


def agent_settings(chosen: argparse.Namespace, environ: Mapping[str, str]) -> AgentSettings:
    """Flags before environment before defaults; raises AgentSettingsError."""
    text = {flag: _text(flag, default, chosen, environ) for flag, default, _ in _FLAGS}
    probe_host, probe_port = _address("--probe-address", text["--probe-address"])
    peer_host, peer_port = _address("--peer-address", text["--peer-address"])
    _address("--grpc-address", text["--grpc-address"])
    return AgentSettings(
        namespace=text["--namespace"],
        node=text["--node"],
        pod_uid=text["--pod-uid"],
        operator_namespace=text["--operator-namespace"],
        operators=_operators(text["--operator"]),
        gate=Path(text["--gate"]),
        data=Path(text["--data"]),
        tls=Path(text["--tls"]),
        boot_conf=Path(text["--boot-conf"]),
        settings_file=Path(text["--settings-file"]) if text["--settings-file"] else None,
        password_file=_readable(text["--password-file"]),
        modules=_modules(text["--modules"]),
        port=_port("--port", text["--port"]),
        grpc_address=text["--grpc-address"],
        probe_host=probe_host,
        probe_port=probe_port,
        record=_record(text, environ),
        cluster=text["--cluster"],
        primary_domain=_primary_domain(text["--namespace"], text["--cluster-domain"]),
        primary_wait_s=_number("--primary-wait", text["--primary-wait"]),
        peers=text["--peers"],
        peer_host=peer_host,
        peer_port=peer_port,
        log_level=chosen.log_level,
    )


def _variable(flag: str) -> str:
    return _PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def _text(flag: str, default: str | None, chosen: argparse.Namespace, environ: Mapping[str, str]) -> str:
    given = getattr(chosen, flag.removeprefix("--").replace("-", "_"))
    value = given if given is not None else environ.get(_variable(flag), default)
    if value is None or (not value and default is None):
        raise AgentSettingsError(f"{flag} is not set; give it, or set {_variable(flag)}.")
    return str(value)


def _operators(text: str) -> tuple[str, ...]:
    addresses = tuple(word for word in text.split(",") if word)
    for address in addresses:
        host, _ = _address("--operator", address)
        if host is None:
            raise AgentSettingsError(f"--operator is {address!r}, which has no host; write HOST:PORT.")
    return addresses


def _record(text: Mapping[str, str], environ: Mapping[str, str]) -> RecordPlace | None:
    name, flag = (text["--shard"], "--shard") if text["--shard"] else (text["--cluster"], "--cluster")
    if not name:
        return None
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    api_server = text["--api-server"] or (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" if host else "")
    if not api_server:
        raise AgentSettingsError(f"{flag} is set and --api-server is not; give it, or run in a pod.")
    _address("--api-server", api_server)
    return RecordPlace(
        api_server=api_server,
        namespace=text["--namespace"],
        shard=name,
        token_dir=Path(text["--token-dir"]),
    )


def _primary_domain(namespace: str, cluster_domain: str) -> str:
    """What follows a node's name; with a dot at its end nothing is searched."""
    return f"{namespace}.svc.{cluster_domain.rstrip('.')}." if cluster_domain else f"{namespace}.svc"


def _number(flag: str, text: str) -> float:
    try:
        number = float(text) if flag in _FRACTIONS else int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST_NUMBER:
        raise AgentSettingsError(f"{flag} is {text!r}; write a number from 0 to {_MOST_NUMBER}.")
    return number


def _address(flag: str, text: str) -> tuple[str | None, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        raise AgentSettingsError(f"{flag} is {text!r}, which is no address; write HOST:PORT.")
    return host.removeprefix("[").removesuffix("]") or None, _port(flag, port)


def _port(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= _MOST_PORT):
        raise AgentSettingsError(f"{flag} has port {text!r}; write a number up to {_MOST_PORT}.")
    return int(text)


def _modules(text: str) -> tuple[ModuleToLoad, ...] | None:
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=tuple[ModuleToLoad, ...])
    except msgspec.DecodeError as error:
        raise AgentSettingsError(f"--modules is {text!r}, which is no list of modules: {error}.") from error


def _readable(text: str) -> Path | None:
    if not text:
        return None
    try:
        Path(text).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise AgentSettingsError(f"--password-file is {text!r}, which cannot be read: {error}.") from error
    return Path(text)
