"""Leave to write from the record: it names nobody who could take over, or no operator is there to change it.

Owns: the questions, and what counts as leave. Refuses to know: when they are asked (fence.py).
An operator's Lease that was not renewed for as long as it lasts, by our own clock, has no holder.
"""

import asyncio
import http

import msgspec
import structlog

from valkey_operator.agent.record import Known, RecordError, RecordReader, ShardRecord, ask_api_server
from valkey_operator.agent.settings import RecordPlace

log = structlog.get_logger(__name__)

LEASE_NAME = "valkey-operator"


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: str = ""


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec


class RecordLeave:
    """Of one node; both questions read the record at that moment."""

    def __init__(self, place: RecordPlace, *, node: str, operator_namespace: str) -> None:
        self._place = place
        self._node = node
        self._read = RecordReader(place).read
        self._lease_path = f"/apis/coordination.k8s.io/v1/namespaces/{operator_namespace}/leases/{LEASE_NAME}"
        self._lease = _LeaseSpec()
        self._seen_since = 0.0

    async def is_alone(self, epoch: int) -> bool:
        """Whether the record names this node in this epoch, and nobody who could take over: in a cluster many could."""
        known = await self._unchanged(epoch)
        return known is not None and known.record.cluster is None and not known.record.promotable

    async def ask(self, epoch: int) -> float | None:
        """When the operator was looked for, if there is none, and the record is unchanged: one may have come since."""
        asked_at = asyncio.get_running_loop().time()
        if not await self._has_no_operator():
            return None
        return asked_at if await self._unchanged(epoch) else None

    async def _unchanged(self, epoch: int) -> Known | None:
        try:
            known = await self._read()
        except RecordError as problem:
            log.debug("the record gives no leave", reason=str(problem))
            return None
        return known if names_writer(known.record, self._node, epoch) else None

    async def _has_no_operator(self) -> bool:
        try:
            status, body = await ask_api_server(self._place, self._lease_path)
            if status == http.HTTPStatus.NOT_FOUND:
                return True
            lease = msgspec.json.decode(body, type=_Lease).spec
        except (RecordError, msgspec.DecodeError) as problem:
            log.debug("the operator's Lease is not known", reason=str(problem))
            return False
        now = asyncio.get_running_loop().time()
        if lease != self._lease:
            self._lease, self._seen_since = lease, now
        return not lease.holder_identity or now - self._seen_since > lease.lease_duration_seconds


def names_writer(record: ShardRecord, node: str, epoch: int) -> bool:
    """Whether a record lets a node write in an epoch: the primary that it names, or any node of a cluster but some."""
    if record.cluster is None:
        return (record.primary, record.epoch, record.pending) == (node, epoch, None)
    leave = record.cluster.leave
    return leave is not None and record.epoch == epoch and node not in leave.without
