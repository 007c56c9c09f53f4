"""The lock on the data folder: the servers of one pod at a time read and write it.

Owns: the lock, whose it is, and when it passes to another pod. Refuses to know: which server starts, and as what.

Kubernetes lets two pods of one machine have the same volume, and somebody may scale a StatefulSet out by hand. The lock
is the kernel's, and ends with the agent; its server runs on while the agent starts again. So the file also names the
pod, until an agent ends that has no server any more. Whoever finds another pod named there leaves the lock free for a
while, for that pod's agent to come back; pods that were ended in order leave no name, and cost no wait. One that ends
at the same moment as its server leaves word of that, and costs little: nothing of such a pod comes back.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

log = structlog.get_logger(__name__)

LOCK_FILE = "valkey-operator.lock"
# An agent that fell is back in two seconds; a pod that replaces one which was killed waits as long as this.
RETURN_WITHIN_S = 5.0
# Containers that are killed together are gone together, give or take.
END_WITHIN_S = 1.0
_MODE = 0o660
_MOST_BYTES = 4096


class VolumeTakenError(Exception):
    """Another pod has the data folder; no server of ours may read it."""


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """On file: the pod whose servers have the folder."""

    pod_uid: str
    ends: bool = False
    """All of it is being ended, its server too."""

    @property
    def lasts_s(self) -> float:
        """How long something of that pod may still have the folder, or come back to it, without its agent."""
        return END_WITHIN_S if self.ends else RETURN_WITHIN_S


class VolumeLock:
    """The lock of one pod on its data folder, kept until the process ends."""

    def __init__(self, folder: Path, pod_uid: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = folder / LOCK_FILE
        self._own = Claim(pod_uid)
        self._clock = clock
        self._file: int | None = None
        self._left_since: float | None = None
        self._warned = False

    def take(self) -> None:
        """Take the lock, unless it is ours; raises VolumeTakenError. A folder that cannot be locked is used without."""
        if self._file is not None:
            return
        try:
            self._file = self._locked()
        except OSError as problem:
            self._warn(problem)
        else:
            self._name(self._own)

    def will_end(self) -> None:
        """Everything of this pod ends now; its server perhaps later than we."""
        self._name(msgspec.structs.replace(self._own, ends=True))

    def end(self, *, is_free: bool) -> None:
        """Let go of the lock, as the end of the process would; `is_free`: others need not wait for us to come back."""
        if self._file is None:
            return
        if is_free:
            self._name(None)
        os.close(self._file)
        self._file = None

    def _locked(self) -> int:
        """The file, opened and locked; raises VolumeTakenError or OSError."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            self._lock(file)
        except BaseException:
            os.close(file)
            raise
        return file

    def _lock(self, file: int) -> None:
        """Lock the file; raises VolumeTakenError while another pod has it, or may come back to it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._left_since = None
            raise VolumeTakenError(f"{_said(_read(file))} has the data folder") from None
        former = _read(file)
        if former is None or former.pod_uid == self._own.pod_uid:
            return
        now = self._clock()
        if self._left_since is None:
            self._left_since = now
        if now - self._left_since < former.lasts_s:
            raise VolumeTakenError(f"{_said(former)} may come back to the data folder")
        log.warning("the data folder is taken over", reason=f"{_said(former)} did not come back")

    def _name(self, claim: Claim | None) -> None:
        """Say on file whose it is. A full disk takes no name; the lock holds nevertheless."""
        if self._file is None or _read(self._file) == claim:
            return
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"" if claim is None else msgspec.json.encode(claim), 0)
        except OSError as problem:
            log.warning("the data folder's lock cannot be written", reason=str(problem))

    def _warn(self, problem: OSError) -> None:
        if not self._warned:
            log.warning("the data folder cannot be locked, and is used without a lock", reason=str(problem))
        self._warned = True


def _read(file: int) -> Claim | None:
    try:
        return msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=Claim)
    except (OSError, msgspec.DecodeError):
        return None


def _said(claim: Claim | None) -> str:
    return "another pod" if claim is None else f"pod {claim.pod_uid}"
