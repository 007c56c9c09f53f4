"""What the user may set, by flag.

Owns: flags, their defaults, and the sentence for each wrong one. Refuses to know: what the settings are used for.
"""

import argparse
import os
import re
from typing import NoReturn

import msgspec

from valkey_operator.agent.settings import AgentSettings, add_flags, agent_settings
from valkey_operator.runtime.logs import LEVELS

EXIT_BAD_SETTINGS = 2
PROGRAM = "valkey-operator"
_MOST_PORT = 65535
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class HealthAddress(msgspec.Struct, frozen=True):
    """Where /healthz, /readyz and /metrics are served; `host` None is every interface, `port` 0 is any free one."""

    host: str | None
    port: int


class OperatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `valkey-operator operator`."""

    kubeconfig: str | None
    context: str | None
    namespace: str | None
    operator_namespace: str | None
    health_address: HealthAddress
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
        type=_health_address,
        default=HealthAddress(None, 8081),
        help="where /healthz, /readyz and /metrics are served (default :8081, every interface)",
    )
    agent = commands.add_parser("agent", help="run the sidecar of a Valkey pod until SIGTERM", allow_abbrev=False)
    add_flags(agent)
    for program in (operator, agent):
        program.add_argument("--log-level", choices=LEVELS, default="info", help="least level to log (default info)")
    return parser


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a namespace; write lower-case letters, digits and dashes")
    return text


def _health_address(text: str) -> HealthAddress:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address; write [HOST]:PORT, such as :8081")
    return HealthAddress(host.removeprefix("[").removesuffix("]") or None, int(port))
