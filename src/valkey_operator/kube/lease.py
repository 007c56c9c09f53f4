"""The Lease object that an election is held over, by blocking requests on a connection of their own.

Blocking, because the election runs in a thread that must go on when the event loop does not.
Owns: reading and compare-and-swap of that one object. Refuses to know: who should lead.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec
from lightkube.core.exceptions import ConfigError

from valkey_operator.kube.client import FIELD_MANAGER
from valkey_operator.kube.connection import BlockingSession
from valkey_operator.kube.errors import NotFoundError, ServerError, UnreachableError, error_from_answer
from valkey_operator.kube.objects import Key, KubeObject, Resource
from valkey_operator.runtime.election import Lease
from valkey_operator.runtime.metrics import EngineMetrics

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    lease_duration_seconds: float = 0.0
    lease_transitions: int = 0


class _LeaseObject(KubeObject, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class LeaseApi:
    """One Lease; every request ends within `timeout_s` of each of its parts (connecting, sending, waiting)."""

    def __init__(self, session: BlockingSession, key: Key, metrics: EngineMetrics, timeout_s: float) -> None:
        self._session = session
        self._key = key
        self._requests = metrics.requests
        self._timeout_s = timeout_s

    def read(self) -> Lease | None:
        """The lease as it is now; None if there is none yet."""
        try:
            return self._send("GET", LEASES.object_path(self._key))
        except NotFoundError:
            return None

    def write(self, lease: Lease) -> Lease:
        """Create it, or replace exactly `lease.version`; raises `ConflictError` where somebody was faster."""
        if lease.version:
            return self._send("PUT", LEASES.object_path(self._key), self._manifest(lease))
        return self._send("POST", LEASES.collection_path(self._key.namespace), self._manifest(lease))

    def _send(self, method: str, path: str, manifest: Mapping[str, Any] | None = None) -> Lease:
        content = None if manifest is None else msgspec.json.encode(manifest)
        headers = {"Content-Type": "application/json"}
        params = {} if manifest is None else {"fieldManager": FIELD_MANAGER}
        try:
            response = self._session.request(
                method, path, params=params, content=content, headers=headers, timeout=self._timeout_s
            )
        except (httpx2.HTTPError, ConfigError, OSError) as error:
            self._count(method, 0)
            raise UnreachableError(f"{method} {path}: {type(error).__name__}: {error}") from error
        self._count(method, response.status_code)
        if not response.is_success:
            raise error_from_answer(f"{method} {path}", response.status_code, response.content)
        return _decode(response.content)

    def _count(self, method: str, code: int) -> None:
        self._requests.labels(method=method, resource=LEASES.plural, code=str(code)).inc()

    def _manifest(self, lease: Lease) -> Mapping[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {
                "name": self._key.name,
                "namespace": self._key.namespace,
                **({"resourceVersion": lease.version} if lease.version else {}),
            },
            "spec": {
                "holderIdentity": lease.holder,
                "leaseDurationSeconds": max(1, round(lease.duration_s)),
                "leaseTransitions": lease.term,
                # For people and other tools; no decision of ours compares the clocks of two machines.
                "renewTime": now,
            },
        }


def _decode(body: bytes) -> Lease:
    try:
        found = msgspec.json.decode(body, type=_LeaseObject)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerError(f"the answer is no Lease: {error}") from error
    spec = found.spec
    return Lease(
        holder=spec.holder_identity,
        duration_s=spec.lease_duration_seconds,
        term=spec.lease_transitions,
        version=found.metadata.resource_version,
    )
