"""TLS from files that are replaced while we run: certificate, key, and the roots to trust.

Owns: noticing a change, and the settings of every connection: TLS 1.3, both sides show a certificate, strict checks.
Refuses to know: who made the files. Names are checked by the caller, after the handshake (identity.py).
"""

import ssl
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec


class TlsFilesError(Exception):
    """The files cannot be read or do not fit together; one sentence."""


class TlsFiles(msgspec.Struct, frozen=True):
    """Names as in a Secret of type kubernetes.io/tls, with the roots beside."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """The own certificate."""
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.folder / "tls.key"

    @property
    def roots(self) -> Path:
        """Whom to trust."""
        return self.folder / "ca.crt"


class Pems(NamedTuple):
    """The content of the files at one moment."""

    certificate: bytes
    key: bytes
    roots: bytes


def read_pems(files: TlsFiles) -> Pems:
    """Read all three; a replacement in between shows as a certificate that does not fit its key."""
    try:
        return Pems(files.certificate.read_bytes(), files.key.read_bytes(), files.roots.read_bytes())
    except OSError as error:
        raise TlsFilesError(f"{error.filename} cannot be read: {error.strerror}.") from error


# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python passes on but has no name for.
_NO_CHECK_TIME = 0x200000


def make_context(files: TlsFiles, purpose: ssl.Purpose, *, expired_too: bool = False) -> ssl.SSLContext:
    """A context for one side; SERVER_AUTH is that of a client. The peer's name is not checked here.

    `expired_too`: chain and key are checked, dates are not.
    """
    server_side = purpose is ssl.Purpose.CLIENT_AUTH
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if expired_too:
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    try:
        context.load_cert_chain(files.certificate, files.key)
        context.load_verify_locations(files.roots)
    except OSError as error:
        raise TlsFilesError(f"the TLS files in {files.folder} cannot be used: {error.strerror or error}.") from error
    return context


def peer_uris(certificate: dict[str, Any] | None) -> list[str]:
    """The URIs in what `SSLObject.getpeercert()` returns."""
    names = (certificate or {}).get("subjectAltName", ())
    return [value for kind, value in names if kind == "URI"]


class Reloading:
    """A context that follows its files; new connections get the newest one that can be used."""

    def __init__(self, files: TlsFiles, purpose: ssl.Purpose, *, expired_too: bool = False) -> None:
        self._files = files
        self._make = partial(make_context, files, purpose, expired_too=expired_too)
        self._stamp = stamp_of(files)
        self._context = self._make()

    def context(self) -> ssl.SSLContext:
        """The context for the next connection; a half-written change keeps the former one until it is whole."""
        stamp = stamp_of(self._files)
        if stamp != self._stamp:
            try:
                self._context, self._stamp = self._make(), stamp
            except TlsFilesError:
                return self._context
        return self._context


def stamp_of(files: TlsFiles) -> tuple[tuple[int, int], ...]:
    """Another one whenever a file was replaced or written to."""
    found = []
    for path in (files.certificate, files.key, files.roots):
        try:
            status = path.stat()
        except OSError:
            found.append((0, 0))
        else:
            found.append((status.st_ino, status.st_mtime_ns))
    return tuple(found)
