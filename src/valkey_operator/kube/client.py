"""Requests to the API server: read, apply, compare-and-swap, delete, watch.

Owns: how each is spelled. Objects to send are plain dicts, objects received are projections.
Refuses to know: retries, caches, and what any object means.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from valkey_operator.kube.errors import NotFoundError, ServerError
from valkey_operator.kube.objects import Key, KubeObject, Query, Resource
from valkey_operator.kube.transport import JSON, Call, Idle, Transport

FIELD_MANAGER = "valkey-operator"
LIST_DEADLINE_S = 30.0
PAGE_SIZE = 500

T = TypeVar("T", bound=KubeObject)
Manifest = Mapping[str, Any]

_WRITE = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
_APPLY = "application/apply-patch+yaml"
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_MERGE = "application/merge-patch+json"


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _RawList(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `refused` tells of the objects that the projection does not fit."""

    items: tuple[T, ...]
    version: str
    next_page: str
    refused: tuple[str, ...] = ()


class KubeClient:
    """The API server; `before_write` is asked before each write, and refuses it by raising."""

    def __init__(self, transport: Transport, before_write: Callable[[], None] = lambda: None) -> None:
        self._transport = transport
        self._before_write = before_write

    def guarded_by(self, before_write: Callable[[], None]) -> "KubeClient":
        """The same connection, whose writes ask first."""
        return KubeClient(self._transport, before_write)

    async def get(self, resource: Resource, key: Key, projection: type[T]) -> T:
        """Read one object from the API server, not from a cache."""
        call = Call(method="GET", resource=resource.plural, path=resource.object_path(key))
        return _decode(await self._transport.send(call), projection)

    async def list_page(
        self, query: Query, projection: type[T], *, limit: int = PAGE_SIZE, next_page: str = ""
    ) -> Page[T]:
        """Read one page; the first is as new as the store behind the API server, the others are of the same moment."""
        params = query.params | {"limit": str(limit)} | ({"continue": next_page} if next_page else {})
        call = Call(
            method="GET",
            resource=query.resource.plural,
            path=query.path,
            params=params,
            accept=_METADATA.format("List") if query.metadata_only else JSON,
            deadline_s=LIST_DEADLINE_S,
        )
        return _decode_page(await self._transport.send(call), projection)

    async def list(self, query: Query, projection: type[T], *, limit: int = PAGE_SIZE) -> tuple[T, ...]:
        """Read all pages."""
        page = await self.list_page(query, projection, limit=limit)
        items = list(page.items)
        while page.next_page:
            page = await self.list_page(query, projection, limit=limit, next_page=page.next_page)
            items += page.items
        return tuple(items)

    async def watch(self, query: Query, version: str, on_line: Callable[[bytes], None], idle: Idle) -> None:
        """Hand over each event after `version` as a line of JSON, until the server ends the stream."""
        params = query.params | {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version}
        accept = _METADATA.format("") if query.metadata_only else JSON
        call = Call(method="WATCH", resource=query.resource.plural, path=query.path, params=params, accept=accept)
        await self._transport.watch(call, on_line, idle)

    async def apply(
        self, resource: Resource, manifest: Manifest, projection: type[T], *, subresource: str | None = None
    ) -> T:
        """Server-side apply: the fields in `manifest` become ours with these values, whoever had them before."""
        path = resource.object_path(key_of(manifest), subresource)
        return await self._write_whole(
            _whole_call("PATCH", resource, path, manifest, media=_APPLY, params=_WRITE | {"force": "true"}), projection
        )

    async def merge(self, resource: Resource, key: Key, changes: Manifest, projection: type[T]) -> T:
        """Merge patch: change single fields of an object that exists. None takes a field away; a list is one field."""
        call = Call(
            method="PATCH",
            resource=resource.plural,
            path=resource.object_path(key),
            params=_WRITE,
            content=msgspec.json.encode(changes),
            media=_MERGE,
        )
        return await self._write_whole(call, projection)

    async def create(self, resource: Resource, manifest: Manifest, projection: type[T]) -> T:
        """Create, or raise `AlreadyExistsError`."""
        path = resource.collection_path(key_of(manifest).namespace)
        return await self._write_whole(_whole_call("POST", resource, path, manifest), projection)

    async def replace(
        self, resource: Resource, manifest: Manifest, projection: type[T], *, subresource: str | None = None
    ) -> T:
        """Compare and swap: write only over `metadata.resourceVersion`, or raise `ConflictError`."""
        if not manifest["metadata"].get("resourceVersion"):
            raise ValueError(f"replace of {resource.kind} {key_of(manifest)} names no resourceVersion to compare with")
        path = resource.object_path(key_of(manifest), subresource)
        return await self._write_whole(_whole_call("PUT", resource, path, manifest), projection)

    async def delete(
        self, resource: Resource, key: Key, *, uid: str | None = None, resource_version: str | None = None
    ) -> bool:
        """Delete the object of this uid in this version, or raise `ConflictError`; False if there was none."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {name: value for name, value in wanted.items() if value is not None},
        }
        call = Call(
            method="DELETE",
            resource=resource.plural,
            path=resource.object_path(key),
            content=msgspec.json.encode(options),
        )
        self._before_write()
        try:
            await self._transport.send(call)
        except NotFoundError:
            return False
        return True

    async def _write_whole(self, call: Call, projection: type[T]) -> T:
        self._before_write()
        return _decode(await self._transport.send(call), projection)


def key_of(manifest: Manifest) -> Key:
    """The key of a manifest."""
    return Key(manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])


def _whole_call(
    method: str,
    resource: Resource,
    path: str,
    manifest: Manifest,
    *,
    media: str = JSON,
    params: Mapping[str, str] = _WRITE,
) -> Call:
    content = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **manifest})
    return Call(method=method, resource=resource.plural, path=path, params=params, content=content, media=media)


def _decode(body: bytes, projection: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=projection)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerError(f"the answer is no {projection.__name__}: {error}") from error


def _decode_page(body: bytes, projection: type[T]) -> Page[T]:
    decoder = msgspec.json.Decoder(projection)
    try:
        raw = msgspec.json.decode(body, type=_RawList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerError(f"the answer is no list: {error}") from error
    items: list[T] = []
    refused: list[str] = []
    for each in raw.items or ():
        try:
            items.append(decoder.decode(each))
        except msgspec.DecodeError as error:
            refused.append(str(error))
    return Page(tuple(items), raw.metadata.resource_version, raw.metadata.continue_, tuple(refused))
