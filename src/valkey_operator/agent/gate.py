"""The gate: a server waits at a FIFO until this agent says as what it starts.

Owns: the FIFO, the start file behind it, and the agent's password of the current start. Refuses to know: who may start.

A permission is a line that a waiting reader takes, never a file that lies there: the FIFO is opened for writing only to
answer, without waiting, and closed at once. Nobody at the gate means no answer (ENXIO). An agent that dies between any
two of these steps leaves a server that reads an end of file: the safe base of boot.conf, without port and fenced.
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from valkey_operator.valkey.boot import Credentials, ModuleToLoad, Start, render_gate_answer, render_start_conf

# Longer than this between opening and writing means that the agent was frozen, and the reader may be another server: a
# container takes longer to start again. On a busy machine 0.1 s passed by themselves, and cost a server a restart.
ANSWER_WITHIN_S = 0.5
_PRIVATE = 0o600


class NobodyWaitsError(Exception):
    """No server stands at the gate; nothing was left behind for one that comes later."""


class AnswerTooLateError(Exception):
    """The agent was stopped while answering; whoever waits now got an empty answer, which starts the safe base."""


class Gate:
    """The shared folder through which the server is let in."""

    def __init__(self, folder: Path) -> None:
        self._fifo = folder / "go.conf"
        self._start_file = folder / "start.conf"
        self._password_file = folder / "agent.password"
        self._new_password_file = folder / "agent.password.new"
        self.socket = folder / "valkey.sock"

    def make(self) -> None:
        """Make the FIFO; keep one that is there, a server may wait at it. Anything else would be a standing answer."""
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISFIFO(self._fifo.lstat().st_mode):
                return
            self._fifo.unlink()
        os.mkfifo(self._fifo, _PRIVATE)

    def open_as(
        self,
        start: Start,
        *,
        default_password: str | None,
        port: int,
        settings_file: Path | None,
        modules: Sequence[ModuleToLoad] = (),
    ) -> None:
        """Let the waiting server start as `start`; raises NobodyWaitsError or AnswerTooLateError."""
        credentials = Credentials(default_password=default_password, agent_password=secrets.token_urlsafe(32))
        text = render_start_conf(
            start,
            credentials,
            port=port,
            settings_file=None if settings_file is None else str(settings_file),
            modules=modules,
        )
        write_private(self._new_password_file, credentials.agent_password)
        write_private(self._start_file, text)
        try:
            self._answer(render_gate_answer(str(self._start_file)))
        except BaseException:
            self._start_file.unlink(missing_ok=True)
            self._new_password_file.unlink(missing_ok=True)
            raise

    def password(self) -> str | None:
        """The agent's password at the server that was let in last; outlives the agent. None: none was."""
        try:
            return self._password_file.read_text()
        except FileNotFoundError:
            return None

    def _answer(self, line: bytes) -> None:
        begun = time.monotonic()
        try:
            fifo = os.open(self._fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise NobodyWaitsError("no server waits at the gate") from None
            raise
        try:
            # From here the reader gets something: the password it will know must be found again by a later agent.
            self._new_password_file.replace(self._password_file)
            if time.monotonic() - begun > ANSWER_WITHIN_S:
                raise AnswerTooLateError("the agent was stopped while it answered at the gate")
            os.write(fifo, line)
        except BrokenPipeError:
            raise NobodyWaitsError("the server at the gate died while it was answered") from None
        finally:
            os.close(fifo)


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole; nobody but this user can read it at any time."""
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE), "w") as file:
        file.write(text)
    fresh.replace(path)
