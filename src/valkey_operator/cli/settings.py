"""What the user may set, by flag.

Owns: flags, their defaults, and the sentence for each wrong one. Refuses to know: what the settings are used for.
"""

import argparse
import ipaddress
import os
import re
from pathlib import Path
from typing import NoReturn

import msgspec

from valkey_operator.agent.settings import AgentSettings, add_flags, agent_settings
from valkey_operator.runtime.logs import LEVELS

EXIT_BAD_SETTINGS = 2
PROGRAM = "valkey-operator"
REPORT_PORT = 9444
_MOST_PORT = 65535
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ListenAddress(msgspec.Struct, frozen=True):
    """Where something is served; `host` None is every interface, `port` 0 is any free one."""

    host: str | None
    port: int


class OperatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `valkey-operator operator`."""

    kubeconfig: str | None
    context: str | None
    namespace: str | None
    operator_namespace: str | None
    health_address: ListenAddress
    report_address: ListenAddress
    advertise: str | None
    report_service: str | None
    agent_image: str
    tls_dir: Path | None
    log_level: str


class _OneSentenceParser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        sentence = f"{message[:1].upper()}{message[1:]}".rstrip(".")
        self.exit(EXIT_BAD_SETTINGS, f"{PROGRAM}: {sentence}; see '{self.prog} --help'.\n")


def parse_settings(arguments: list[str]) -> OperatorSettings | AgentSettings | None:
    """Read the command line; None is the command `version`. Leaves the program with code 2 on a wrong flag.

    Raises AgentSettingsError, because the agent's settings may also come from the environment.
    """
    chosen = _parser().parse_args(arguments)
    if chosen.command == "version":
        return None
    if chosen.command == "agent":
        return agent_settings(chosen, os.environ)
    return OperatorSettings(
        kubeconfig=chosen.kubeconfig,
        context=chosen.context,
        namespace=chosen.namespace,
        operator_namespace=chosen.operator_namespace,
        health_address=chosen.health_address,
        report_address=chosen.report_address,
        advertise=chosen.advertise,
        report_service=chosen.report_service,
        agent_image=chosen.agent_image,
        tls_dir=chosen.tls_dir,
        log_level=chosen.log_level,
    )


def _parser() -> argparse.ArgumentParser:
    parser = _OneSentenceParser(prog=PROGRAM, description="Runs Valkey on Kubernetes.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("version", help="print the version and exit", allow_abbrev=False)
    operator = commands.add_parser("operator", help="run the operator until SIGTERM", allow_abbrev=False)
    operator.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="how to reach the API server; else $KUBECONFIG, else the pod's service account, else ~/.kube/config",
    )
    operator.add_argument("--context", metavar="NAME", help="context of the kubeconfig; else its current-context")
    operator.add_argument(
        "--namespace", metavar="NAME", type=_namespace, help="manage this namespace alone; else the whole cluster"
    )
    operator.add_argument(
        "--operator-namespace",
        metavar="NAME",
        type=_namespace,
        help="where the operator keeps its own objects; else its pod's namespace, else valkey-operator-system",
    )
    operator.add_argument(
        "--health-address",
        metavar="[HOST]:PORT",
        type=_listen_address,
        default=ListenAddress(None, 8081),
        help="where /healthz, /readyz and /metrics are served (default :8081, every interface)",
    )
    _add_agent_flags(operator)
    agent = commands.add_parser("agent", help="run the sidecar of a Valkey pod until SIGTERM", allow_abbrev=False)
    add_flags(agent)
    for program in (operator, agent):
        program.add_argument("--log-level", choices=LEVELS, default="info", help="least level to log (default info)")
    return parser


def _add_agent_flags(operator: argparse.ArgumentParser) -> None:
    """What the operator and the agents have to know of each other. A default out of the environment is checked too."""
    operator.add_argument(
        "--report-address",
        metavar="[HOST]:PORT",
        type=_listen_address,
        default=ListenAddress(None, REPORT_PORT),
        help=f"where reports of agents are taken (default :{REPORT_PORT}, every interface)",
    )
    operator.add_argument(
        "--advertise",
        metavar="IP",
        type=_ip_address,
        default=os.environ.get("POD_IP") or None,
        help="where agents reach this process (else $POD_IP, else the address that outgoing connections have)",
    )
    operator.add_argument(
        "--report-service",
        metavar="HOST:PORT",
        type=_service,
        help="where agents find all replicas of the operator; else valkey-operator-agents.<its namespace>.svc:9444",
    )
    operator.add_argument(
        "--agent-image",
        metavar="IMAGE",
        default=os.environ.get("VALKEY_OPERATOR_IMAGE") or "valkey-operator:dev",
        help="image of the sidecar (else $VALKEY_OPERATOR_IMAGE, else valkey-operator:dev)",
    )
    operator.add_argument(
        "--tls-dir",
        metavar="FOLDER",
        type=Path,
        help="where the operator keeps its own certificate, in a folder of its own; else the system's temporary folder",
    )


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a namespace; write lower-case letters, digits and dashes")
    return text


def _listen_address(text: str) -> ListenAddress:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address; write [HOST]:PORT, such as :8081")
    return ListenAddress(host.removeprefix("[").removesuffix("]") or None, int(port))


def _ip_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IP address") from None


def _service(text: str) -> str:
    address = _listen_address(text)
    if address.host is None or not address.port:
        raise argparse.ArgumentTypeError(f"{text!r} names no host or no port; write HOST:PORT")
    return text
