"""Certificates for tests: an authority, its leaves, and a handshake in memory."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

from valkey_operator.pki.authority import KeyPair, make_key, make_leaf, make_root
from valkey_operator.wire.identity import Identity
from valkey_operator.wire.tls import TlsFiles, make_context, peer_uris


class Authority:
    def __init__(self) -> None:
        self.root = make_root(make_key(), name="valkey-operator", now=datetime.now(UTC))

    def leaf(self, identity: Identity, *, now: datetime | None = None) -> KeyPair:
        return make_leaf(make_key(), self.root, identity, hosts=["127.0.0.1"], now=now or datetime.now(UTC))


def write_tls(folder: Path, pair: KeyPair, roots: bytes) -> TlsFiles:
    folder.mkdir(exist_ok=True)
    files = TlsFiles(folder)
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    files.roots.write_bytes(roots)
    return files


def handshake(server: TlsFiles, client: TlsFiles) -> tuple[list[str], list[str]]:
    """Shake hands without a network: the URIs that the server saw, and those that the client saw."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = make_context(server, ssl.Purpose.CLIENT_AUTH).wrap_bio(to_server, to_client, server_side=True)
    asking = make_context(client, ssl.Purpose.SERVER_AUTH).wrap_bio(to_client, to_server)
    waiting = [asking, serving]
    while waiting:
        for side in list(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    return peer_uris(serving.getpeercert()), peer_uris(asking.getpeercert())
