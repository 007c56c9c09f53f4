"""Copies of whole collections of the API server, kept fresh by one watching thread each.

Level-triggered: a reader gets the newest objects, never the events between. While the server is away the last copy
stands; after it came back, the watch resumes where it stopped, or lists again if the server has forgotten that point.
"""

import http.client
import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from testbed.addons.backoff import delay_s
from testbed.addons.kubeapi import Api, ApiError, Json, UnreachableError

# The server ends a watch after WATCH_S by itself. One that is silent even beyond that has lost its server.
WATCH_S = 60
SILENCE_S = WATCH_S + 10.0
# Short, because a test that takes the server away waits for everybody to come back.
LONGEST_RETRY_S = 2.0
# Changes come in bursts (a StatefulSet, a rollout): this little patience saves most passes over the whole picture.
SETTLE_S = 0.02

# The objects of a collection at this moment, by its path.
Snapshot = Callable[[str], list[Json]]

log = logging.getLogger(__name__)


class ExpiredError(Exception):
    """The server no longer knows the version we would watch from: only a new list helps."""


class Mirror:
    """The collections at `paths` (such as /api/v1/pods). Objects handed out are shared: never change them."""

    def __init__(self, api: Api, paths: Iterable[str]) -> None:
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._collections = {path: _Collection(api, path, self._changes) for path in paths}
        self.stopped = False

    def start(self) -> None:
        for path, collection in self._collections.items():
            threading.Thread(target=collection.follow, name=f"watch {path}", daemon=True).start()

    def is_complete(self) -> bool:
        """Whether every collection was listed once; before that a missing object means nothing."""
        return all(collection.listed for collection in self._collections.values())

    def snapshot(self, path: str) -> list[Json]:
        """The objects of a collection, by namespace and name."""
        objects = dict(self._collections[path].objects)
        return [objects[key] for key in sorted(objects)]

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something changed since the last call, or `stop`; False if the timeout came first."""
        try:
            self._changes.get(timeout=timeout)
        except queue.Empty:
            return False
        time.sleep(SETTLE_S)
        while not self._changes.empty():
            self._changes.get_nowait()
        return True

    def stop(self) -> None:
        """End the wait for good. Safe in a signal handler: SimpleQueue.put may interrupt itself."""
        self.stopped = True
        for collection in self._collections.values():
            collection.stopped = True
        self._changes.put(None)


class _Collection:
    def __init__(self, api: Api, path: str, changes: "queue.SimpleQueue[None]") -> None:
        self._api = api
        self._path = path
        self._changes = changes
        self._version = ""
        self._failures = 0
        self.objects: dict[tuple[str, str], Json] = {}
        self.listed = False
        self.stopped = False

    def follow(self) -> None:
        """Keep `objects` fresh until stopped; a watch that is open then lasts until its next event or its end."""
        while not self.stopped:
            try:
                if not self._version:
                    self._list()
                self._watch()
            except ExpiredError:
                self._version = ""
            except ApiError as error:
                self._failures += 1
                if self._failures == 1:
                    log.warning("%s: %s; trying until it answers", self._path, error)
                time.sleep(delay_s(self._failures, LONGEST_RETRY_S))

    def _list(self) -> None:
        answer = self._api.request("GET", self._path)
        # Replaced as a whole: a reader sees either the old copy or the new one, deletions included.
        self.objects = {_key(item): item for item in answer.get("items") or []}
        self._version = answer["metadata"]["resourceVersion"]
        self.listed = True
        self._answered()
        self._changes.put(None)

    def _watch(self) -> None:
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_S}&resourceVersion={self._version}"
        try:
            response = self._api.open("GET", f"{self._path}?{query}", timeout_s=SILENCE_S)
        except ApiError as error:
            raise ExpiredError if error.status == http.client.GONE else error from error
        self._answered()
        try:
            for event in _events(response):
                self._take(event["type"], event["object"])
                if self.stopped:
                    return
        finally:
            response.close()

    def _answered(self) -> None:
        if self._failures:
            log.info("%s: answers again", self._path)
        self._failures = 0

    def _take(self, kind: str, item: Json) -> None:
        if kind == "ERROR":
            raise ExpiredError
        self._version = item["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return
        if kind == "DELETED":
            self.objects.pop(_key(item), None)
        else:
            self.objects[_key(item)] = item
        self._changes.put(None)


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    try:
        while line := response.readline():
            yield json.loads(line)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnreachableError(error) from error


def _key(item: Json) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
