"""The certificate this replica of the operator shows to agents, on file, because TLS libraries read files.

Owns: the private folder, the files in it, and their renewal. Refuses to know: how certificates are made.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import structlog

from valkey_operator.controllers.agents.authority import CHECK_EVERY, Authority, AuthoritySecretError, LeafSecret
from valkey_operator.kube.errors import ApiError
from valkey_operator.wire.tls import TlsFiles

log = structlog.get_logger(__name__)

RETRY_S = 60.0
# Of memory, and there even where a container's own file system is read-only.
_LAST_RESORT = Path("/dev/shm")  # noqa: S108 - a folder in it is made for us alone


@contextlib.contextmanager
def private_folder(parent: Path | None) -> Iterator[Path]:
    """A folder that only we can enter, removed at the end; raises OSError. None: the system's temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="valkey-operator-", dir=parent or _temporary_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def utc_now() -> datetime:
    """The wall clock, which certificates are about."""
    return datetime.now(UTC)


class OwnCertificate:
    """Obtained at the start, then kept in time."""

    def __init__(self, authority: Authority, files: TlsFiles, now: Callable[[], datetime] = utc_now) -> None:
        self._authority = authority
        self._files = files
        self._now = now
        self._shown: LeafSecret | None = None

    async def obtain(self, delays: Iterator[float]) -> None:
        """Load the authority and write the files, again and again until it works."""
        while (problem := await self._look()) is not None:
            delay_s = next(delays)
            log.warning("the certificate authority cannot be used", reason=problem, retry_in_s=round(delay_s, 3))
            await asyncio.sleep(delay_s)

    async def keep(self) -> None:
        """Look every hour whether the authority changed or the certificate is due; for ever."""
        pause_s = CHECK_EVERY.total_seconds()
        while True:
            await asyncio.sleep(pause_s)
            problem = await self._look()
            pause_s = CHECK_EVERY.total_seconds() if problem is None else RETRY_S
            if problem is not None:
                log.warning("the certificate authority could not be read again", reason=problem, retry_in_s=pause_s)

    async def _look(self) -> str | None:
        """What stands in the way, if anything does."""
        try:
            await self._authority.load(self._now())
        except (ApiError, AuthoritySecretError) as problem:
            return str(problem)
        self._renew_if_due()
        return None

    def _renew_if_due(self) -> None:
        now = self._now()
        if self._shown is not None and self._authority.operator_renewal(self._shown, now) > now:
            return
        self._shown = self._authority.operator_leaf(now)
        self._write(self._shown)
        log.info("the operator's certificate was made", renew_at=self._shown.renew_at.isoformat())

    def _write(self, leaf: LeafSecret) -> None:
        for path, content in (
            (self._files.roots, leaf.roots),
            (self._files.key, leaf.key),
            (self._files.certificate, leaf.certificate),
        ):
            _replace(path, content)


def _replace(path: Path, content: bytes) -> None:
    """Never half a file: a reader has the former or the new one."""
    fresh = path.with_suffix(".new")
    with open(fresh, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)
    fresh.replace(path)


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return _LAST_RESORT
