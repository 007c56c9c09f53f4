"""The API server as far as one operator's Secrets are concerned: create, read, compare and swap."""

import asyncio
import itertools
from typing import Any

import msgspec

from tests.support.engine import metrics
from valkey_operator.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from valkey_operator.kube.transport import Call, Transport

WAY_S = 0.01


class SecretApi(Transport):
    """Objects by path; `fails` are raised first, one for each request."""

    def __init__(self, *fails: ApiError) -> None:
        self._metrics = metrics()
        self._versions = itertools.count(1)
        self.fails = list(fails)
        self.objects: dict[str, dict[str, Any]] = {}
        self.sent: list[str] = []

    async def send(self, call: Call) -> bytes:
        self.sent.append(call.method)
        await asyncio.sleep(WAY_S)
        if self.fails:
            raise self.fails.pop(0)
        given = msgspec.json.decode(call.content or b"null")
        path = call.path if call.method != "POST" else f"{call.path}/{given['metadata']['name']}"
        answer = msgspec.json.encode(self._answer(call.method, path, given))
        await asyncio.sleep(WAY_S)
        return answer

    def _answer(self, method: str, path: str, given: dict[str, Any]) -> dict[str, Any]:
        known = self.objects.get(path)
        if method == "POST" and known is not None:
            raise AlreadyExistsError(path)
        if method != "POST" and known is None:
            raise NotFoundError(path)
        if method == "GET":
            assert known is not None
            return known
        if known and known["metadata"]["resourceVersion"] != given["metadata"]["resourceVersion"]:
            raise ConflictError(path)
        given["metadata"]["resourceVersion"] = str(next(self._versions))
        self.objects[path] = given
        return given
