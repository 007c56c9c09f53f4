"""One JSON object per line on standard error, for our own events and for those of every library.

Owns: the format. Refuses to know: what is worth logging.
"""

import logging
import os
import sys
from typing import TextIO

import structlog

LEVELS = ("debug", "info", "warning", "error")


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Send all logs of this process to `stream` (standard error), from `level` upwards. Replaces earlier settings."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.dict_tracebacks,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # gRPC's core writes lines of its own form, past every handler; what fails it also raises. Read when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # The HTTP client logs every request at info; a request is our business at debug only.
    logging.getLogger("httpx2").setLevel("DEBUG" if level == "debug" else "WARNING")
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
