"""The small Kubernetes client against a scripted API server that speaks real TLS on loopback."""

import contextlib
import json
import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from testbed.addons import mirror as mirror_module
from testbed.addons.kubeapi import MERGE_PATCH, Api, ApiError, UnreachableError
from testbed.addons.mirror import Mirror
from testbed.commands import output

Json = dict[str, Any]

PODS = "/api/v1/pods"
DEADLINE_S = 5.0
HANG_UP = "hang up"


class Script:
    """What the server answers, and what it was asked."""

    def __init__(self) -> None:
        self.items: list[Json] = []
        self.version = "10"
        self.watched_from: list[str] = []
        self.lists = 0
        self.requests: list[tuple[str, str, Json | None, str]] = []
        self.refusal: tuple[int, Json] | None = None
        self.watch_refusal: int | None = None
        self.events: queue.SimpleQueue[Json | str] = queue.SimpleQueue()


def handler_of(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            if "watch" in query:
                self.watch(query["resourceVersion"][0])
            else:
                script.lists += 1
                self.answer(200, {"metadata": {"resourceVersion": script.version}, "items": script.items})

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(text) if text else None
            script.requests.append((self.command, self.path, body, self.headers["Content-Type"]))
            status, answer = script.refusal or (200, {"kind": "Done"})
            self.answer(status, answer)

        do_PATCH = do_DELETE = do_POST  # noqa: N815 - the names are http.server's

        def watch(self, version: str) -> None:
            script.watched_from.append(version)
            if script.watch_refusal is not None:
                status, script.watch_refusal = script.watch_refusal, None
                self.answer(status, {"message": "too old"})
                return
            self.send_response(200)
            self.end_headers()
            while (event := script.events.get()) != HANG_UP:
                self.wfile.write(json.dumps(event).encode() + b"\n")

        def answer(self, status: int, body: Json) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that is its own authority, for the server and the client."""
    folder = tmp_path_factory.mktemp("pki")
    key: list[str | Path] = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        folder / "key.pem",
    ]
    names = ["-subj", "/CN=testbed", "-addext", "subjectAltName=IP:127.0.0.1"]
    output(["openssl", "req", "-x509", "-days", "1", *key, *names, "-out", folder / "cert.pem"])
    return folder


@pytest.fixture
def script() -> Script:
    return Script()


@contextlib.contextmanager
def serving(script: Script, pki: Path, port: int = 0) -> Iterator[int]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki / "cert.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(pki / "cert.pem", pki / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", port), handler_of(script))
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        script.events.put(HANG_UP)
        server.shutdown()
        server.server_close()


def client(pki: Path, port: int) -> Api:
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(pki / "cert.pem")}
    user = {"client-certificate": str(pki / "cert.pem"), "client-key": str(pki / "key.pem")}
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "other", "cluster": {}}, {"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    (pki / "kubeconfig").write_text(json.dumps(config))
    return Api(pki / "kubeconfig")


@pytest.fixture
def api(script: Script, pki: Path) -> Iterator[Api]:
    with serving(script, pki) as port:
        yield client(pki, port)


@pytest.fixture
def mirror(api: Api) -> Iterator[Mirror]:
    started = Mirror(api, [PODS])
    started.start()
    yield started
    started.stop()


def pod(name: str, version: str = "10") -> Json:
    return {"metadata": {"namespace": "shop", "name": name, "resourceVersion": version}}


def event(kind: str, item: Json) -> Json:
    return {"type": kind, "object": item}


def names(mirror: Mirror) -> list[str]:
    return [item["metadata"]["name"] for item in mirror.snapshot(PODS)]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def test_a_request_carries_its_body_and_returns_the_answer(api: Api, script: Script) -> None:
    assert api.request("PATCH", f"{PODS}/a", {"spec": 1}, MERGE_PATCH) == {"kind": "Done"}
    assert script.requests == [("PATCH", f"{PODS}/a", {"spec": 1}, MERGE_PATCH)]


def test_a_refusal_is_told_in_the_servers_own_words(api: Api, script: Script) -> None:
    script.refusal = (409, {"kind": "Status", "message": "it exists"})
    with pytest.raises(ApiError, match="409: it exists") as caught:
        api.request("POST", PODS, {})
    assert (caught.value.status, caught.value.message) == (409, "it exists")


def test_a_refusal_without_words_is_still_an_error(api: Api, script: Script) -> None:
    script.refusal = (503, {})
    with pytest.raises(ApiError, match="503"):
        api.request("DELETE", PODS)


def test_nobody_listening_is_told_apart(pki: Path) -> None:
    with pytest.raises(UnreachableError, match="Connection refused"):
        client(pki, 1).request("GET", PODS)


def test_a_mirror_begins_with_a_list(mirror: Mirror, script: Script) -> None:
    script.items = [pod("b"), pod("a")]
    script.events.put(event("ERROR", {"code": 500}))
    eventually(lambda: names(mirror) == ["a", "b"])
    assert mirror.is_complete()


def test_a_mirror_is_incomplete_before_its_first_list(pki: Path) -> None:
    waiting = Mirror(client(pki, 1), [PODS])
    waiting.start()
    assert not waiting.is_complete()
    assert names(waiting) == []
    waiting.stop()


def test_a_mirror_follows_additions_changes_and_deletions(mirror: Mirror, script: Script) -> None:
    script.events.put(event("ADDED", pod("a", "11")))
    script.events.put(event("ADDED", pod("b", "12")))
    script.events.put(event("MODIFIED", {**pod("a", "13"), "spec": "new"}))
    script.events.put(event("DELETED", pod("b", "14")))
    eventually(lambda: [item.get("spec") for item in mirror.snapshot(PODS)] == ["new"])


def test_a_closed_watch_resumes_where_it_stopped_without_a_list(mirror: Mirror, script: Script) -> None:
    script.events.put(event("ADDED", pod("a", "11")))
    script.events.put(event("BOOKMARK", {"metadata": {"resourceVersion": "77"}}))
    script.events.put(HANG_UP)
    eventually(lambda: script.watched_from == ["10", "77"])
    assert script.lists == 1
    assert names(mirror) == ["a"]


@pytest.mark.parametrize("in_stream", [True, False], ids=["in the watch", "when the watch is opened"])
def test_an_expired_version_means_a_new_list_with_the_deletions_in_between(
    mirror: Mirror, script: Script, *, in_stream: bool
) -> None:
    script.events.put(event("ADDED", pod("gone", "11")))
    eventually(lambda: names(mirror) == ["gone"])
    script.items, script.version = [pod("new", "90")], "90"
    if in_stream:
        script.events.put(event("ERROR", {"kind": "Status", "code": 410}))
    else:
        script.watch_refusal = 410
    script.events.put(HANG_UP)
    eventually(lambda: names(mirror) == ["new"])
    eventually(lambda: script.watched_from[-1] == "90")


def test_a_mirror_keeps_its_copy_while_the_server_is_away_and_comes_back(script: Script, pki: Path) -> None:
    with serving(script, pki) as port:
        kept = Mirror(client(pki, port), [PODS])
        kept.start()
        script.events.put(event("ADDED", pod("a", "11")))
        eventually(lambda: names(kept) == ["a"])
    time.sleep(0.3)
    assert names(kept) == ["a"]
    with serving(script, pki, port):
        script.events.put(event("ADDED", pod("b", "12")))
        eventually(lambda: names(kept) == ["a", "b"])
    kept.stop()
    assert script.lists == 1


def test_a_silent_watch_is_opened_again(mirror: Mirror, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    eventually(lambda: len(script.watched_from) == 1)
    monkeypatch.setattr(mirror_module, "SILENCE_S", 0.1)
    script.events.put(HANG_UP)
    eventually(lambda: len(script.watched_from) >= 4)
    assert mirror.is_complete()


def test_waiting_ends_with_a_change_or_in_vain(mirror: Mirror, script: Script) -> None:
    assert mirror.wait_for_change(DEADLINE_S)
    assert not mirror.wait_for_change(0.05)
    script.events.put(event("ADDED", pod("a", "11")))
    assert mirror.wait_for_change(DEADLINE_S)


def test_stopping_ends_the_wait(mirror: Mirror) -> None:
    mirror.wait_for_change(DEADLINE_S)
    threading.Timer(0.05, mirror.stop).start()
    assert mirror.wait_for_change(DEADLINE_S)
    assert mirror.stopped
