"""The command `valkey-operator`: which program to run, and its exit code.

0: stopped as asked. 2: the settings are wrong; one sentence on standard error says which. Else: a defect.
"""

import asyncio
import sys

from valkey_operator.cli.operator import HealthAddressError, package_version, run_operator
from valkey_operator.cli.settings import EXIT_BAD_SETTINGS, PROGRAM, parse_settings
from valkey_operator.kube.connection import ConnectionSettingsError
from valkey_operator.runtime.logs import configure_logs


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `arguments` (those of the process by default) and return the exit code."""
    settings = parse_settings(sys.argv[1:] if arguments is None else arguments)
    if settings is None:
        print(package_version())
        return 0
    configure_logs(settings.log_level)
    try:
        asyncio.run(run_operator(settings))
    except (ConnectionSettingsError, HealthAddressError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return EXIT_BAD_SETTINGS
    return 0
