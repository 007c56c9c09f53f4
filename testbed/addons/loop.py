"""The shape both daemons share: after every change look at everything and do what is missing, until told to stop."""

import logging
import signal
from collections.abc import Callable

from testbed.addons.mirror import Mirror

log = logging.getLogger(__name__)


def drive(mirror: Mirror, step: Callable[[], float]) -> None:
    """Run `step` after each change, and when the seconds it returned are over. Ends on SIGTERM or SIGINT.

    Must be called from the main thread. A step is never interrupted by the signal.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: mirror.stop())
    mirror.start()
    patience_s = 1.0
    while not mirror.stopped:
        mirror.wait_for_change(patience_s)
        if mirror.is_complete() and not mirror.stopped:
            patience_s = step()
    log.info("stopped")
