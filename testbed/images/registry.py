"""A registry for the nodes: serves the archives of a testbed by the pull half of the OCI distribution protocol.

Nodes have their images imported, so this is asked only by `imagePullPolicy: Always` (which `:latest` means) and for
images that nobody has, which are then missing as on a real registry: at once, with a clear answer.
"""

import json
import re
import shutil
import sys
import tarfile
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from testbed.images.oci import NAME_ANNOTATIONS, blob_path, read_json

PORT = 5000
ANYTHING = "application/octet-stream"
PULL = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs)/(?P<reference>[^/]+)")


def find_manifest(archives: list[Path], name: str, reference: str) -> tuple[Path, dict[str, str]] | None:
    """The archive that has an image under this full name and tag or digest, and its manifest's descriptor."""
    for archive in archives:
        for manifest in read_json(archive, "index.json")["manifests"]:
            named, _, tag = manifest["annotations"][NAME_ANNOTATIONS[0]].rpartition(":")
            if named == name and reference in (tag, manifest["digest"]):
                return archive, manifest
    return None


def find_blob(archives: list[Path], digest: str) -> Path | None:
    member = blob_path({"digest": digest})
    for archive in archives:
        with tarfile.open(archive) as tar:
            if member in tar.getnames():
                return archive
    return None


class Puller(BaseHTTPRequestHandler):
    """Answers GET and HEAD; the list of archives is read anew each time, as images are loaded later too."""

    protocol_version = "HTTP/1.1"
    catalogue: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path.rstrip("/") == "/v2":
            self.refuse(HTTPStatus.OK, "")
            return
        match = PULL.fullmatch(address.path)
        host = parse_qs(address.query).get("ns", [""])[0]
        if match is None:
            self.refuse(HTTPStatus.NOT_FOUND, "UNSUPPORTED")
        elif match["kind"] == "manifests":
            self.send_manifest(f"{host}/{match['name']}", match["reference"])
        else:
            self.send_blob(match["reference"])

    def send_manifest(self, name: str, reference: str) -> None:
        found = find_manifest(self.archives(), name, reference)
        if found is None:
            self.refuse(HTTPStatus.NOT_FOUND, "MANIFEST_UNKNOWN")
        else:
            archive, manifest = found
            self.send_content(archive, manifest["digest"], manifest["mediaType"])

    def send_blob(self, digest: str) -> None:
        archive = find_blob(self.archives(), digest)
        if archive is None:
            self.refuse(HTTPStatus.NOT_FOUND, "BLOB_UNKNOWN")
        else:
            self.send_content(archive, digest, ANYTHING)

    def send_content(self, archive: Path, digest: str, media_type: str) -> None:
        with tarfile.open(archive) as tar:
            member = tar.getmember(blob_path({"digest": digest}))
            self.start(HTTPStatus.OK, media_type, member.size, digest)
            content = tar.extractfile(member)
            if self.command == "GET" and content:
                shutil.copyfileobj(content, self.wfile)

    def refuse(self, status: HTTPStatus, code: str) -> None:
        body = json.dumps({"errors": [{"code": code, "message": self.path}]} if code else {}).encode()
        self.start(status, "application/json", len(body), None)
        if self.command == "GET":
            self.wfile.write(body)

    def start(self, status: HTTPStatus, media_type: str, size: int, digest: str | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(size))
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()

    def archives(self) -> list[Path]:
        return read_catalogue(self.catalogue)


def read_catalogue(catalogue: Path) -> list[Path]:
    """The archives on offer, the newest first; one that was removed from the cache is left out."""
    listed = json.loads(catalogue.read_text()) if catalogue.exists() else []
    return [path for path in map(Path, listed) if path.exists()]


def offer(catalogue: Path, archives: list[Path]) -> None:
    """Add archives to what is on offer; they hide older ones with the same names."""
    added = [str(path.resolve()) for path in archives]
    known = [str(path) for path in read_catalogue(catalogue)]
    draft = catalogue.with_suffix(".new")
    draft.write_text(json.dumps(list(dict.fromkeys([*added, *known]))))
    draft.rename(catalogue)


def serve(address: str, catalogue: Path) -> None:
    handler = type("OfferedPuller", (Puller,), {"catalogue": catalogue})
    ThreadingHTTPServer((address, PORT), handler).serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
