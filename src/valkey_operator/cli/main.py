"""The command `valkey-operator`: which program to run, and its exit code.

0: stopped as asked. 2: the settings are wrong; one sentence on standard error says which. Else: a defect.
"""

import asyncio
import sys

from valkey_operator import VERSION
from valkey_operator.agent.settings import AgentSettings, AgentSettingsError
from valkey_operator.cli.settings import EXIT_BAD_SETTINGS, PROGRAM, OperatorSettings, parse_settings
from valkey_operator.runtime.logs import configure_logs

# Programs are imported where they are run: the agent is in every pod, and must not hold the operator's libraries.


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `arguments` (those of the process by default) and return the exit code."""
    try:
        settings = parse_settings(sys.argv[1:] if arguments is None else arguments)
        if settings is None:
            print(VERSION)
            return 0
        configure_logs(settings.log_level)
        return _run_agent(settings) if isinstance(settings, AgentSettings) else _run_operator(settings)
    except AgentSettingsError as error:
        return _refuse(error)


def _run_operator(settings: OperatorSettings) -> int:
    from valkey_operator.cli.operator import PlaceError, run_operator  # noqa: PLC0415
    from valkey_operator.kube.connection import ConnectionSettingsError  # noqa: PLC0415

    try:
        asyncio.run(run_operator(settings))
    except (ConnectionSettingsError, PlaceError) as error:
        return _refuse(error)
    return 0


def _run_agent(settings: AgentSettings) -> int:
    from valkey_operator.agent.main import run_agent  # noqa: PLC0415

    asyncio.run(run_agent(settings, VERSION))
    return 0


def _refuse(error: Exception) -> int:
    print(f"{PROGRAM}: {error}", file=sys.stderr)
    return EXIT_BAD_SETTINGS
