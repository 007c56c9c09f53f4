"""Encryption of connections, and where certificates come from."""

from typing import Annotated, ClassVar, Literal

from valkey_operator.api.fields import VALIDITY, Model, Rule, doc, set_list
from valkey_operator.api.references import KEY, DataKeyRef, IssuerRef, NameRef
from valkey_operator.api.rules import at_most_one

Protocol = Literal["TLSv1.2", "TLSv1.3"]
MinVersion = Literal["TLS12", "TLS13"]


def key_in_secret(text: str, built_in: str) -> object:
    """The name of a key in the certificate's Secret."""
    return doc(f"{text} Built in: {built_in}.", pattern=KEY, maxLength=253)


_VALID_FOR = doc(
    "How long a certificate is valid: 1m, 1h, 1d, 1mo or 1y and multiples. Built in: 90d.",
    pattern=VALIDITY,
    maxLength=16,
)


class CertificateLife(Model, frozen=True, kw_only=True):
    """How long a certificate is valid, and when it is replaced."""

    rotate_before_percent: Annotated[
        int | None,
        doc(
            "Replace a certificate once this percentage of its validity has passed, 66 to 80. Built in: 66.",
            minimum=66,
            maximum=80,
        ),
    ] = None


class InternalCertificates(CertificateLife, frozen=True, kw_only=True):
    """Certificates from the operator's own authority."""

    validity: Annotated[str | None, _VALID_FOR] = None


class OperatorMtls(CertificateLife, frozen=True, kw_only=True):
    """Certificates between the operator and the agents."""

    client_cert_validity: Annotated[str | None, _VALID_FOR] = None


class Tls(Model, frozen=True, kw_only=True):
    """Encryption; certificates come from exactly one source."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        at_most_one("certificateRef", "issuerRef", "policyRef", "internal"),
        Rule(
            rule=(
                "!has(self.minVersion) || self.minVersion != 'TLS13' || !has(self.protocols) || "
                "!('TLSv1.2' in self.protocols)"
            ),
            message=(
                "protocols holds TLSv1.2, which minVersion TLS13 forbids: "
                "take TLSv1.2 out of protocols, or set minVersion to TLS12"
            ),
            field=".protocols",
        ),
    )

    enabled: Annotated[bool | None, doc("Encrypt client connections. Built in: false.")] = None
    certificate_ref: Annotated[
        NameRef | None,
        doc("A Secret that holds certificate, key and CA; whoever made it renews it, and it is reloaded on change."),
    ] = None
    issuer_ref: Annotated[IssuerRef | None, doc("The cert-manager issuer to request certificates from.")] = None
    policy_ref: Annotated[NameRef | None, doc("A ValkeyClusterTls of this namespace, whose settings are used.")] = None
    internal: Annotated[
        InternalCertificates | None,
        doc("Certificates from the operator's own authority. Built in: this, where no other source is given."),
    ] = None
    cert_key: Annotated[str | None, key_in_secret("Key of the certificate in the Secret.", "tls.crt")] = None
    key_key: Annotated[str | None, key_in_secret("Key of the private key in the Secret.", "tls.key")] = None
    ca_key: Annotated[str | None, key_in_secret("Key of the CA certificate in the Secret.", "ca.crt")] = None
    client_auth: Annotated[
        Literal["none", "request", "require"] | None,
        doc(
            "Client certificates: none = not asked for, request = checked if the client has one, require = no "
            "connection "
            "without. Built in: require."
        ),
    ] = None
    port: Annotated[int | None, doc("Port for encrypted connections. Built in: 6379.", minimum=1, maximum=65535)] = None
    disable_plaintext: Annotated[
        bool | None,
        doc(
            "Refuse unencrypted connections. If false, tls.port must differ from 6379, the plain port. Built in: true."
        ),
    ] = None
    min_version: Annotated[
        MinVersion | None,
        doc("Oldest protocol that is accepted. Built in: the oldest in protocols, or TLS12."),
    ] = None
    protocols: Annotated[
        list[Protocol] | None,
        set_list(
            "Protocols that are accepted, none older than minVersion. Built in: all from minVersion on.", at_most=2
        ),
    ] = None
    ciphers: Annotated[
        str | None, doc("Ciphers up to TLSv1.2, in OpenSSL's notation. Built in: OpenSSL's own choice.", maxLength=4096)
    ] = None
    cipher_suites: Annotated[
        str | None,
        doc("Cipher suites of TLSv1.3, in OpenSSL's notation. Built in: OpenSSL's own choice.", maxLength=4096),
    ] = None
    dh_params_ref: Annotated[
        DataKeyRef | None, doc("Diffie-Hellman parameters in PEM form. Built in: none; OpenSSL chooses.")
    ] = None
    replication: Annotated[
        bool | None, doc("Encrypt traffic between primary and replicas, if TLS is enabled. Built in: true.")
    ] = None
    cluster_bus: Annotated[
        bool | None, doc("Encrypt the cluster bus, if TLS is enabled (ValkeyCluster only). Built in: true.")
    ] = None
