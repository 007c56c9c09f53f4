"""The operator's own certificate authority: keys and certificates as PEM, from key material and a time.

Owns: what is in a certificate. Refuses to know: where the PEM is kept, and what the time is.

Every certificate has what the strict checks of Python 3.13 and OpenSSL demand: key usage, basic constraints, subject
and authority key identifiers. Keys are P-256: small, fast, and accepted by every TLS library around.
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from valkey_operator.wire.identity import Identity

ROOT_VALIDITY = timedelta(days=3650)
# Long enough that an operator's outage of weeks costs no connection.
LEAF_VALIDITY = timedelta(days=90)
# Clocks of nodes differ.
BACKDATED = timedelta(hours=1)


class KeyPair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def make_key() -> bytes:
    """A new private key, PEM; the only thing here that needs chance."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def make_root(key: bytes, *, name: str, now: datetime, validity: timedelta = ROOT_VALIDITY) -> KeyPair:
    """A root that signs leaves and nothing below."""
    private = _private(key)
    subject = _subject(name)
    builder = (
        _base(subject, private.public_key(), now, now + validity)
        .issuer_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(private.public_key()), critical=False)
    )
    return KeyPair(_pem(builder.sign(private, hashes.SHA256())), key)


def make_leaf(
    key: bytes,
    root: KeyPair,
    identity: Identity,
    *,
    hosts: Sequence[str] = (),
    now: datetime,
    validity: timedelta = LEAF_VALIDITY,
) -> KeyPair:
    """A certificate of one program, for both sides of a connection; `hosts` are DNS names and IP addresses."""
    signer = _private(root.key)
    issuer = x509.load_pem_x509_certificate(root.certificate)
    ends = min(now + validity, issuer.not_valid_after_utc)
    builder = (
        _base(_subject(identity.node or "operator"), _private(key).public_key(), now, ends)
        .issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(_alternative_names(identity, hosts), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    return KeyPair(_pem(builder.sign(signer, hashes.SHA256())), key)


def _base(
    subject: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(identity: Identity, hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    names: list[x509.GeneralName] = [
        x509.UniformResourceIdentifier(identity.uri),
        x509.DNSName(identity.host_name),
    ]
    return x509.SubjectAlternativeName(names + [_host(host) for host in hosts])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _subject(name: str) -> x509.Name:
    # RFC 5280 allows 64 characters; the whole name is in the alternative names anyway.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def check_pair(pair: KeyPair) -> None:
    """Raise ValueError or TypeError unless both can be read and belong together."""
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    if certificate.public_key() != _private(pair.key).public_key():
        raise ValueError("the certificate is not that of the key")


def _private(key: bytes) -> ec.EllipticCurvePrivateKey:
    loaded = serialization.load_pem_private_key(key, password=None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise TypeError(f"the key is {type(loaded).__name__}; expected one on an elliptic curve")
    return loaded


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
