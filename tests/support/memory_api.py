"""An API server in the memory of a test, and caches that have what was written at once.

Owns: applies, merges, swaps and deletions, as far as controllers can tell the difference. Refuses to know: rules of
the API, and who deletes what an owner leaves behind.
"""

import base64
import itertools
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.support.engine import metrics
from valkey_operator.kube.errors import error_from_answer
from valkey_operator.kube.indices import Index
from valkey_operator.kube.objects import KubeObject, Query
from valkey_operator.kube.store import Store
from valkey_operator.kube.transport import Call, Transport
from valkey_operator.kube.versions import Versions

Manifest = dict[str, Any]


class MemoryApi(Transport):
    """Objects by path; every write is told to the caches that would watch it."""

    def __init__(self) -> None:
        self._metrics = metrics()
        self._versions = itertools.count(1)
        self._caches: dict[Query, tuple[type[KubeObject], Store[Any]]] = {}
        self._others: dict[Query, Versions] = {}
        self.objects: dict[str, Manifest] = {}
        self.writes: list[str] = []

    def cache(self, query: Query, projection: type[Any], indices: Mapping[str, Index[Any]] | None = None) -> Store[Any]:
        """As `Caches.cache`."""
        if query not in self._caches:
            self._caches[query] = (projection, Store(indices or {}))
        return self._caches[query][1]

    def versions(self, query: Query) -> Versions:
        """As `Caches.versions`."""
        return self._others.setdefault(query, Versions())

    async def send(self, call: Call) -> bytes:
        """Answer a request of the client."""
        path, given = call.path.removesuffix("/status"), json.loads(call.content or b"{}")
        if call.method != "GET":
            self.writes.append(f"{call.method} {call.path}")
        if call.method == "POST":
            path = f"{path}/{given['metadata']['name']}"
        known = self.objects.get(path)
        if known is None and (call.method in ("GET", "PUT", "DELETE") or call.media.startswith("application/merge")):
            raise error_from_answer(str(call), 404, b'{"reason": "NotFound"}')
        if known is not None and call.method == "POST":
            raise error_from_answer(str(call), 409, b'{"reason": "AlreadyExists"}')
        if call.method == "PUT" and known and _version(known) != _version(given):
            raise error_from_answer(str(call), 409, b'{"reason": "Conflict"}')
        if call.method == "GET":
            return json.dumps(known).encode()
        if call.method == "DELETE":
            self.delete(path)
            return b"{}"
        if call.path.endswith("/status"):
            return json.dumps(self.put(path, {**(known or {}), "status": given["status"]})).encode()
        return json.dumps(self.put(path, given if call.method == "PUT" else _merged(known or {}, given))).encode()

    def put(self, path: str, found: Manifest) -> Manifest:
        """Write an object as somebody else would."""
        meta = {"namespace": "", "uid": f"uid of {path}", "generation": 1, **found.get("metadata", {})}
        found = {**found, "metadata": {**meta, "resourceVersion": str(next(self._versions))}}
        if secrets := found.pop("stringData", None):
            found["data"] = {key: base64.b64encode(value.encode()).decode() for key, value in secrets.items()}
        self.objects[path] = found
        for query, (projection, store) in self._caches.items():
            if path.startswith(f"{query.resource.collection_path(meta['namespace'])}/") and _is_selected(query, meta):
                store.put(msgspec.convert(found, projection))
        return found

    def delete(self, path: str) -> None:
        """Delete an object as somebody else would."""
        gone = self.objects.pop(path)
        gone["metadata"]["resourceVersion"] = str(next(self._versions))
        for query, (projection, store) in self._caches.items():
            if path.startswith(f"{query.resource.collection_path(gone['metadata']['namespace'])}/"):
                store.remove(msgspec.convert(gone, projection))

    def names(self, plural: str) -> list[str]:
        """The names of all objects of a kind."""
        return sorted(path.rpartition("/")[2] for path in self.objects if path.split("/")[-2] == plural)

    def get(self, plural: str, name: str) -> Manifest:
        """One object."""
        return next(found for path, found in self.objects.items() if path.endswith(f"/{plural}/{name}"))


def _version(found: Manifest) -> object:
    return found["metadata"].get("resourceVersion")


def _is_selected(query: Query, meta: Manifest) -> bool:
    wanted = [each.split("=") for each in (query.selector or "").split(",") if "=" in each]
    return all(meta.get("labels", {}).get(key) == value for key, value in wanted)


def _merged(known: Manifest, given: Manifest) -> Manifest:
    """Field by field; None takes a field away."""
    merged = dict(known)
    for key, value in given.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged
