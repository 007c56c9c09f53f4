"""When a certificate is renewed, and what is trusted while an authority is replaced.

Owns: the renewal time of a certificate, and what a bundle contains. Refuses to know: which root signs (roots.py), and
who writes it where.

A bundle trusts the former root until the last leaf it signed has run out or been replaced.
"""

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

RENEW_AFTER = 2 / 3


def renewal_time(certificate: bytes) -> datetime:
    """When a certificate (PEM) is to be replaced: after two thirds of its life."""
    parsed = x509.load_pem_x509_certificate(certificate)
    begun, ends = parsed.not_valid_before_utc, parsed.not_valid_after_utc
    return begun + (ends - begun) * RENEW_AFTER


def names_in(certificate: bytes) -> list[str]:
    """The URIs in a certificate (PEM)."""
    parsed = x509.load_pem_x509_certificate(certificate)
    try:
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.UniformResourceIdentifier)


def is_signed_by(leaf: bytes, root: bytes) -> bool:
    """Whether the leaf (PEM) was signed by that root's key."""
    try:
        x509.load_pem_x509_certificate(leaf).verify_directly_issued_by(x509.load_pem_x509_certificate(root))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def render_bundle(roots: Iterable[bytes], *, now: datetime) -> bytes:
    """The roots to trust, newest first, each once, without those that have expired."""
    parsed = {x509.load_pem_x509_certificate(root) for root in roots}
    valid = [root for root in parsed if root.not_valid_after_utc > now]
    newest_first = sorted(valid, key=lambda root: (root.not_valid_before_utc, root.serial_number), reverse=True)
    return b"".join(root.public_bytes(serialization.Encoding.PEM) for root in newest_first)
