"""Pulling from the registry of the testbed, over loopback."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from testbed.images.oci import digest, write_image
from testbed.images.registry import Puller, offer

LAYER = b"layer"


def archive(path: Path, name: str, layer: bytes = LAYER) -> Path:
    write_image(path, [name], layer, {"Cmd": ["true"]})
    return path


@contextmanager
def serving(catalogue: Path) -> Iterator[str]:
    handler = type("TestedPuller", (Puller,), {"catalogue": catalogue, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def ask(url: str, method: str = "GET") -> HTTPResponse:
    reply: HTTPResponse = urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5)  # noqa: S310
    return reply


def test_an_image_is_pulled_by_its_name_down_to_its_layers(tmp_path: Path) -> None:
    offer(tmp_path / "images.json", [archive(tmp_path / "a.tar", "valkey/valkey:9.1")])
    with serving(tmp_path / "images.json") as url:
        with ask(f"{url}/v2/valkey/valkey/manifests/9.1?ns=docker.io") as reply:
            manifest = json.load(reply)
            pinned = reply.headers["Docker-Content-Digest"]
        layer = manifest["layers"][0]["digest"]
        with ask(f"{url}/v2/valkey/valkey/blobs/{layer}?ns=docker.io") as reply:
            assert reply.read() == LAYER
        with ask(f"{url}/v2/valkey/valkey/manifests/{pinned}?ns=docker.io") as reply:
            assert digest(reply.read()) == pinned


def test_a_head_request_tells_size_and_digest_without_content(tmp_path: Path) -> None:
    offer(tmp_path / "images.json", [archive(tmp_path / "a.tar", "tool:1")])
    with (
        serving(tmp_path / "images.json") as url,
        ask(f"{url}/v2/library/tool/manifests/1?ns=docker.io", "HEAD") as reply,
    ):
        assert int(reply.headers["Content-Length"]) > 0
        assert reply.headers["Docker-Content-Digest"].startswith("sha256:")
        assert reply.read() == b""


@pytest.mark.parametrize(
    "path",
    [
        "/v2/library/tool/manifests/2?ns=docker.io",
        "/v2/library/other/manifests/1?ns=docker.io",
        "/v2/library/tool/manifests/1?ns=elsewhere.example",
        "/v2/library/tool/blobs/sha256:00?ns=docker.io",
        "/favicon.ico",
    ],
)
def test_what_nobody_has_is_not_found(tmp_path: Path, path: str) -> None:
    offer(tmp_path / "images.json", [archive(tmp_path / "a.tar", "tool:1")])
    with serving(tmp_path / "images.json") as url, pytest.raises(urllib.error.HTTPError) as refusal:
        ask(url + path)
    refusal.value.close()

    assert refusal.value.code == 404


def test_an_archive_that_is_loaded_later_hides_the_older_one_of_its_name(tmp_path: Path) -> None:
    catalogue = tmp_path / "images.json"
    offer(catalogue, [archive(tmp_path / "old.tar", "tool:1")])
    offer(catalogue, [archive(tmp_path / "new.tar", "tool:1", b"newer layer")])
    with serving(catalogue) as url, ask(f"{url}/v2/library/tool/manifests/1?ns=docker.io") as reply:
        assert json.load(reply)["layers"][0]["digest"] == digest(b"newer layer")


def test_an_archive_that_was_removed_is_no_longer_offered(tmp_path: Path) -> None:
    catalogue = tmp_path / "images.json"
    offer(catalogue, [archive(tmp_path / "a.tar", "tool:1")])
    (tmp_path / "a.tar").unlink()
    with serving(catalogue) as url, pytest.raises(urllib.error.HTTPError) as refusal:
        ask(f"{url}/v2/library/tool/manifests/1?ns=docker.io")
    refusal.value.close()
