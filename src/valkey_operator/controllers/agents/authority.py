"""The operator's own certificate authority, kept in a Secret beside the operator.

Owns: that Secret, and the certificates of nodes and of the operator itself. Refuses to know: what is in a certificate
and when a root is due (pki), and who puts a node's certificate where.

Every replica reads the Secret, and any may create or renew it: a create or a swap succeeds for one, and the others read
what that one wrote. A Secret that was deleted is written again as it was, because every agent trusts it.
"""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog

from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import AlreadyExistsError, NotFoundError
from valkey_operator.kube.objects import Key, KubeObject, Resource
from valkey_operator.pki.authority import KeyPair, check_pair, make_key, make_leaf
from valkey_operator.pki.roots import Roots, first_roots
from valkey_operator.pki.rotation import is_signed_by, names_in, renewal_time
from valkey_operator.wire.identity import Identity, has_identity, node_identity, operator_identity

log = structlog.get_logger(__name__)

SECRETS = Resource("", "v1", "secrets", "Secret")
SECRET_NAME = "valkey-operator-ca"  # noqa: S105 - its name, not its content
CHECK_EVERY = timedelta(hours=1)


class AuthoritySecretError(Exception):
    """There is something else in the authority's Secret; one sentence."""


class Secret(KubeObject, frozen=True):
    """With its data as bytes; they are base64 on the way."""

    type: str = ""
    data: dict[str, bytes] = msgspec.field(default_factory=dict)


class LeafSecret(msgspec.Struct, frozen=True):
    """What a program needs to show who it is and to know the others, PEM; to be replaced at `renew_at`."""

    certificate: bytes
    key: bytes
    roots: bytes
    renew_at: datetime


class Authority:
    """Of one operator; `load` comes before all else."""

    def __init__(self, client: KubeClient, namespace: str, make_key: Callable[[], bytes] = make_key) -> None:
        self._client = client
        self._key = Key(namespace, SECRET_NAME)
        self._make_key = make_key
        self._roots: Roots | None = None

    @property
    def secret(self) -> Key:
        """Where it is kept."""
        return self._key

    async def load(self, now: datetime) -> None:
        """Read the Secret, create it, or swap it if that is due; raises `ApiError` or `AuthoritySecretError`.

        A `ConflictError` says that another replica was faster: load again.
        """
        found = await self._read() or await self._create(now)
        known = _roots_in(found)
        due = known.renewed(now, self._make_key)
        if due != known:
            await self._client.replace(SECRETS, _manifest(self._key, due, found), Secret)
            log.info("the certificate authority was renewed", secret=str(self._key))
        self._roots = due

    def leaf_for(self, namespace: str, node: str, now: datetime) -> LeafSecret:
        """A new certificate for the agent of a node."""
        return self._leaf(node_identity(namespace, node), now)

    def operator_leaf(self, now: datetime) -> LeafSecret:
        """A new certificate for the operator itself."""
        return self._leaf(operator_identity(self._key.namespace), now)

    def renewal_of(self, namespace: str, node: str, leaf: KeyPair, *, roots: bytes, now: datetime) -> datetime:
        """When a node's certificate and bundle, as they are now, have to be replaced; `now` if they are not sound."""
        return self._renewal(node_identity(namespace, node), leaf, roots, now)

    def operator_renewal(self, leaf: LeafSecret, now: datetime) -> datetime:
        """When the operator's own certificate has to be replaced; `now` if it is not sound."""
        pair = KeyPair(leaf.certificate, leaf.key)
        return self._renewal(operator_identity(self._key.namespace), pair, leaf.roots, now)

    def _leaf(self, identity: Identity, now: datetime) -> LeafSecret:
        roots = self._loaded()
        pair = make_leaf(self._make_key(), roots.signer(now), identity, now=now)
        return LeafSecret(pair.certificate, pair.key, roots.bundle(now), self._leaf_ends(pair.certificate, now))

    def _renewal(self, identity: Identity, leaf: KeyPair, bundle: bytes, now: datetime) -> datetime:
        roots = self._loaded()
        trusted = [root for root in (roots.current.certificate, roots.former) if root is not None]
        try:
            check_pair(leaf)
            is_sound = (
                bundle == roots.bundle(now)
                and has_identity(names_in(leaf.certificate), identity)
                and any(is_signed_by(leaf.certificate, root) for root in trusted)
            )
        except (ValueError, TypeError):
            return now
        return self._leaf_ends(leaf.certificate, now) if is_sound else now

    def _leaf_ends(self, certificate: bytes, now: datetime) -> datetime:
        """Also a new root is a reason: all have to trust it before it signs. It is made at the next check after."""
        root_made = renewal_time(self._loaded().current.certificate) + 2 * CHECK_EVERY
        at = renewal_time(certificate)
        return min(at, root_made) if root_made > now else at

    def _loaded(self) -> Roots:
        if self._roots is None:
            raise RuntimeError("the authority was asked for a certificate before it was loaded")
        return self._roots

    async def _read(self) -> Secret | None:
        try:
            return await self._client.get(SECRETS, self._key, Secret)
        except NotFoundError:
            return None

    async def _create(self, now: datetime) -> Secret:
        roots = self._roots or first_roots(self._make_key(), now=now)
        try:
            made = await self._client.create(SECRETS, _manifest(self._key, roots), Secret)
        except AlreadyExistsError:
            return await self._client.get(SECRETS, self._key, Secret)
        log.info("the certificate authority was made", secret=str(self._key))
        return made


def _roots_in(secret: Secret) -> Roots:
    data, mend = secret.data, "delete it, or restore it"
    try:
        roots = Roots(
            current=KeyPair(data["tls.crt"], data["tls.key"]),
            former=data.get("former.crt"),
            former_key=data.get("former.key"),
        )
        check_pair(roots.current)
        if roots.former is not None:
            renewal_time(roots.former)
        if roots.former is not None and roots.former_key is not None:
            check_pair(KeyPair(roots.former, roots.former_key))
    except KeyError as missing:
        raise AuthoritySecretError(f"Secret {secret.key} has no {missing}; {mend}.") from None
    except (ValueError, TypeError) as error:
        raise AuthoritySecretError(f"Secret {secret.key} is no authority ({error}); {mend}.") from error
    return roots


def _manifest(key: Key, roots: Roots, found: Secret | None = None) -> dict[str, Any]:
    contents = {
        "tls.crt": roots.current.certificate,
        "tls.key": roots.current.key,
        "former.crt": roots.former,
        "former.key": roots.former_key,
    }
    metadata: dict[str, Any] = {
        "namespace": key.namespace,
        "name": key.name,
        "labels": {"app.kubernetes.io/name": "valkey-operator"},
    }
    if found is not None:
        metadata |= {
            "resourceVersion": found.metadata.resource_version,
            "labels": found.metadata.labels,
            "annotations": found.metadata.annotations,
        }
    data = {name: base64.b64encode(value).decode() for name, value in contents.items() if value is not None}
    return {"metadata": metadata, "type": "kubernetes.io/tls", "data": data}
