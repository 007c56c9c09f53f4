"""The shard's record, read from the API server as it is at this moment.

Owns: the request, who we say we are, and the part of the record that is read.
Refuses to know: what follows from it (start.py), and when it is read (starter.py). Nothing is cached.
"""

import asyncio
import http
import ssl

import msgspec

from valkey_operator.agent.settings import RecordPlace
from valkey_operator.wire.http_client import HttpError, Response, get

ATTEMPT_WITHIN_S = 2.0


class RecordError(Exception):
    """The record could not be read; one sentence."""


class RecordedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation under way, and the primary at its beginning."""

    type: str
    source: str | None = None


class PendingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of primary that was announced."""

    epoch: int


class RecordedLeave(msgspec.Struct, frozen=True, kw_only=True):
    """Leave to write in a cluster: who gets none in this epoch."""

    without: tuple[str, ...] = ()


class RecordedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """What the record of a whole cluster says beside its epoch."""

    leave: RecordedLeave | None = None


class ShardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the spec of a ValkeyShard says about starts and leave to write."""

    epoch: int
    primary: str | None = None
    promotable: tuple[str, ...] = ()
    pending: PendingChange | None = None
    operation: RecordedOperation | None = None
    cluster: RecordedCluster | None = None


class Known(msgspec.Struct, frozen=True):
    """A record, and when it was asked for, by the loop's clock: it may have changed any time since."""

    record: ShardRecord
    asked_at: float


class _Shard(msgspec.Struct, frozen=True):
    spec: ShardRecord


class RecordReader:
    """Reads one shard's record, as often as it is told to."""

    def __init__(self, place: RecordPlace) -> None:
        self._place = place
        self._path = f"/apis/valkey.io/v1alpha1/namespaces/{place.namespace}/valkeyshards/{place.shard}"

    async def read(self) -> Known:
        """Ask once; raises RecordError."""
        asked_at = asyncio.get_running_loop().time()
        return Known(parse_record(*await ask_api_server(self._place, self._path)), asked_at)


async def ask_api_server(place: RecordPlace, path: str) -> Response:
    """One GET as this pod's account; raises RecordError."""
    try:
        # Both files are replaced while we run: kubelet renews the token, the cluster its authorities.
        token = (place.token_dir / "token").read_text().strip()
        context = ssl.create_default_context(cafile=place.token_dir / "ca.crt")
        async with asyncio.timeout(ATTEMPT_WITHIN_S):
            return await get(place.api_server, path, token=token, context=context)
    except TimeoutError:
        raise RecordError(f"{place.api_server} gave no answer within {ATTEMPT_WITHIN_S} s") from None
    except (HttpError, OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{place.api_server}: {type(error).__name__}: {error}") from error


def parse_record(status: int, body: bytes) -> ShardRecord:
    """The record in an answer of the API server; raises RecordError."""
    if status != http.HTTPStatus.OK:
        raise RecordError(f"the API server answers {status}: {body[:200].decode(errors='replace')}")
    try:
        return msgspec.json.decode(body, type=_Shard).spec
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"the API server's answer is no ValkeyShard: {error}") from error
