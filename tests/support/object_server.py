"""An API server for a program that needs little of one: objects are made, read and swapped; lists stay empty."""

import contextlib
import http.server
import itertools
import json
import threading
from collections.abc import Iterator
from typing import Any

GIT_VERSION = "v1.34.4"


class Objects:
    """By path; shared by the threads of the server, and by the test."""

    def __init__(self) -> None:
        self.by_path: dict[str, dict[str, Any]] = {"/version": {"gitVersion": GIT_VERSION, "platform": "linux/amd64"}}
        self._versions = itertools.count(1)
        self._turn = threading.Lock()

    def answer(self, method: str, path: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._turn:
            if method == "POST":
                path = f"{path}/{given['metadata']['name']}"
            known = self.by_path.get(path)
            if method == "GET" and known is not None:
                return 200, known
            if (known is None) != (method == "POST"):
                return (409, {"reason": "AlreadyExists"}) if known else (404, {"reason": "NotFound"})
            if known and known["metadata"]["resourceVersion"] != given["metadata"]["resourceVersion"]:
                return 409, {"reason": "Conflict"}
            given["metadata"]["resourceVersion"] = str(next(self._versions))
            self.by_path[path] = given
            return 200, given


@contextlib.contextmanager
def api_server(port: int, objects: Objects | None = None) -> Iterator[Objects]:
    """Serve on loopback."""
    kept = objects or Objects()
    stopping = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if "watch=true" in query:
                return self._watch()
            if "limit=" in query:
                return self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
            given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            return self._answer(*kept.answer(self.command, path, given))

        def _watch(self) -> None:
            """Nothing happens, until the server stops."""
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            stopping.wait()
            self.close_connection = True

        def _answer(self, code: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET  # noqa: N815 - named by the library

        def log_message(self, *_args: object) -> None:
            """Keep the test's output to what it is about."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield kept
    finally:
        stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
