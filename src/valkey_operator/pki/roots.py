"""The roots of the operator's authority over time: which one signs, which are trusted, and what is due.

Owns: the life of a root. Refuses to know: where roots are kept, and what the time is.

| time                              | signs  | trusted             |
| --------------------------------- | ------ | ------------------- |
| first two thirds of a root's life | it     | it                  |
| then, for a day (`SETTLES_IN`)    | it     | it and the next one |
| afterwards, until it expires      | next   | both                |

So everybody has had a day to learn of the next root before anybody shows a certificate of it.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from cryptography import x509

from valkey_operator.pki.authority import BACKDATED, KeyPair, make_root
from valkey_operator.pki.rotation import render_bundle, renewal_time

SETTLES_IN = timedelta(days=1)
_NAME = "valkey-operator"


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """The newest root, and the one before while it counts; its key is kept only while it signs."""

    current: KeyPair
    former: bytes | None = None
    former_key: bytes | None = None

    def signer(self, now: datetime) -> KeyPair:
        """The root that signs at this time."""
        if self.former is None or self.former_key is None or _ends(self.former) <= now or self._is_settled(now):
            return self.current
        return KeyPair(self.former, self.former_key)

    def bundle(self, now: datetime) -> bytes:
        """The roots to trust, PEM."""
        return render_bundle([self.current.certificate, *([self.former] if self.former else [])], now=now)

    def renewed(self, now: datetime, make_key: Callable[[], bytes]) -> "Roots":
        """What the roots should be at this time; the same if nothing is due."""
        if now >= renewal_time(self.current.certificate):
            following = make_root(make_key(), name=_NAME, now=now)
            return Roots(current=following, former=self.current.certificate, former_key=self.current.key)
        if self.former is not None and _ends(self.former) <= now:
            return Roots(current=self.current)
        if self.former_key is not None and self._is_settled(now):
            return Roots(current=self.current, former=self.former)
        return self

    def _is_settled(self, now: datetime) -> bool:
        begun = x509.load_pem_x509_certificate(self.current.certificate).not_valid_before_utc + BACKDATED
        return now >= begun + SETTLES_IN


def first_roots(key: bytes, *, now: datetime) -> Roots:
    """Those of an authority that nobody knows yet."""
    return Roots(current=make_root(key, name=_NAME, now=now))


def _ends(certificate: bytes) -> datetime:
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc
