"""The operator's authority among several replicas, and its own certificate, over hours and years of virtual time."""

import asyncio
import base64
import ssl
import stat
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.sim import virtual_time
from tests.support.certificates import handshake, write_tls
from tests.support.secret_api import SecretApi
from valkey_operator.controllers.agents.authority import (
    CHECK_EVERY,
    Authority,
    AuthoritySecretError,
    LeafSecret,
)
from valkey_operator.controllers.agents.own_certificate import OwnCertificate, private_folder
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import ConflictError, ForbiddenError, UnreachableError
from valkey_operator.pki.authority import KeyPair, make_key
from valkey_operator.pki.rotation import is_signed_by, names_in, renewal_time
from valkey_operator.wire.identity import node_identity, operator_identity
from valkey_operator.wire.tls import Reloading, TlsFiles, stamp_of

HERE = "valkey-operator-system"
PATH = f"/api/v1/namespaces/{HERE}/secrets/valkey-operator-ca"
START = datetime.now(UTC).replace(microsecond=0)
ROOT_DUE = START + timedelta(days=2434)
T = TypeVar("T")


def authority_of(api: SecretApi) -> Authority:
    return Authority(KubeClient(api), HERE)


def loaded(api: SecretApi, now: datetime = START) -> Authority:
    async def load() -> Authority:
        authority = authority_of(api)
        await authority.load(now)
        return authority

    return virtual_time.run(load(), seed=1)


def data_of(api: SecretApi) -> dict[str, bytes]:
    return {name: base64.b64decode(value) for name, value in api.objects[PATH]["data"].items()}


def pair_of(leaf: LeafSecret) -> KeyPair:
    return KeyPair(leaf.certificate, leaf.key)


def files_of(folder: Path, leaf: LeafSecret) -> TlsFiles:
    return write_tls(folder, pair_of(leaf), leaf.roots)


# --- the Secret ---


def test_whoever_comes_first_makes_it_and_all_have_the_same() -> None:
    async def race() -> None:
        api = SecretApi()
        replicas = [authority_of(api) for _ in range(3)]
        await asyncio.gather(*(each.load(START) for each in replicas))
        assert len({each.leaf_for("shop", "cart-0", START).roots for each in replicas}) == 1

    for seed in range(20):
        virtual_time.run(race(), seed=seed)


def test_it_is_a_tls_secret_that_is_written_once() -> None:
    api = SecretApi()
    loaded(api)
    loaded(api)
    assert api.objects[PATH]["type"] == "kubernetes.io/tls"
    assert set(data_of(api)) == {"tls.crt", "tls.key"}
    assert api.sent == ["GET", "POST", "GET"]


def test_a_deleted_secret_is_written_again_as_it_was() -> None:
    async def delete_and_load() -> None:
        api = SecretApi()
        authority = authority_of(api)
        await authority.load(START)
        before = data_of(api)
        api.objects.clear()
        await authority.load(START)
        assert data_of(api) == before

    virtual_time.run(delete_and_load(), seed=1)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"tls.key": b"x"}, r"^Secret .*/valkey-operator-ca has no 'tls.crt'; delete it, or restore it\."),
        ({"tls.crt": b"x", "tls.key": b"x"}, r"is no authority \(.*\); delete it, or restore it\."),
        ({"former.crt": b"x"}, r"is no authority"),
        ({"tls.key": make_key()}, r"is no authority \(the certificate is not that of the key\)"),
    ],
)
def test_something_else_in_the_secret_is_one_sentence(data: dict[str, bytes], sentence: str) -> None:
    api = SecretApi()
    loaded(api)
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    api.objects[PATH]["data"] = encoded if "has no" in sentence else api.objects[PATH]["data"] | encoded
    with pytest.raises(AuthoritySecretError, match=sentence):
        loaded(api)


def test_a_root_that_is_due_is_replaced_once_and_labels_of_others_stay() -> None:
    api = SecretApi()
    loaded(api)
    root = data_of(api)["tls.crt"]
    api.objects[PATH]["metadata"]["labels"]["team"] = "data"
    loaded(api, ROOT_DUE)
    replaced = data_of(api)
    loaded(api, ROOT_DUE)
    assert data_of(api) == replaced
    assert replaced["former.crt"] == root != replaced["tls.crt"]
    assert api.objects[PATH]["metadata"]["labels"] == {"app.kubernetes.io/name": "valkey-operator", "team": "data"}


def test_of_two_that_replace_a_root_one_reads_what_the_other_wrote() -> None:
    async def race() -> None:
        api = SecretApi()
        one, other = authority_of(api), authority_of(api)
        await one.load(START)

        async def renew(authority: Authority) -> None:
            try:
                await authority.load(ROOT_DUE)
            except ConflictError:
                await authority.load(ROOT_DUE)

        await asyncio.gather(renew(one), renew(other))
        roots = {each.leaf_for("shop", "cart-0", ROOT_DUE).roots for each in (one, other)}
        assert len(roots) == 1
        assert api.sent.count("PUT") in {1, 2}

    for seed in range(20):
        virtual_time.run(race(), seed=seed)


# --- certificates ---


def test_operator_and_agents_know_each_other_by_name(tmp_path: Path) -> None:
    authority = loaded(SecretApi())
    operator = files_of(tmp_path / "operator", authority.operator_leaf(START))
    agent = files_of(tmp_path / "agent", authority.leaf_for("shop", "cart-0", START))
    assert handshake(operator, agent) == ([node_identity("shop", "cart-0").uri], [operator_identity(HERE).uri])


def test_in_every_hour_of_a_new_root_old_and_new_certificates_are_trusted() -> None:
    """Of replicas that read the Secret an hour apart, whatever each signs is in the bundle of the other."""
    api = SecretApi()
    behind = loaded(api)
    ahead = loaded(api, ROOT_DUE)
    leaf = ahead.leaf_for("shop", "cart-0", ROOT_DUE)
    assert leaf.roots != behind.leaf_for("shop", "cart-0", ROOT_DUE).roots
    both = {"a": leaf, "b": behind.operator_leaf(ROOT_DUE)}
    for name, other in (("a", "b"), ("b", "a")):
        assert signed_by_one_of(both[name].certificate, both[other].roots)


def signed_by_one_of(certificate: bytes, roots: bytes) -> bool:
    each = [root.public_bytes(Encoding.PEM) for root in x509.load_pem_x509_certificates(roots)]
    return any(is_signed_by(certificate, root) for root in each)


def test_a_certificate_that_is_not_sound_is_renewed_now() -> None:
    authority = loaded(SecretApi())
    leaf = authority.leaf_for("shop", "cart-0", START)
    stranger = loaded(SecretApi()).leaf_for("shop", "cart-0", START)

    def renewal(node: str, pair: KeyPair, roots: bytes = leaf.roots) -> datetime:
        return authority.renewal_of("shop", node, pair, roots=roots, now=START)

    assert renewal("cart-0", pair_of(leaf)) == leaf.renew_at == renewal_time(leaf.certificate)
    assert renewal("cart-1", pair_of(leaf)) == START
    assert renewal("cart-0", pair_of(stranger)) == START
    assert renewal("cart-0", pair_of(leaf), stranger.roots) == START
    assert renewal("cart-0", KeyPair(leaf.certificate, stranger.key)) == START
    assert renewal("cart-0", KeyPair(b"", b"")) == START


def test_a_new_root_is_a_reason_to_renew_before_it_signs() -> None:
    api = SecretApi()
    before = ROOT_DUE - timedelta(days=3)
    authority = loaded(api)
    leaf = authority.leaf_for("shop", "cart-0", before)
    assert before < leaf.renew_at < ROOT_DUE + timedelta(days=1)
    after = loaded(api, leaf.renew_at)
    assert after.renewal_of("shop", "cart-0", pair_of(leaf), roots=leaf.roots, now=leaf.renew_at) == leaf.renew_at
    fresh = after.leaf_for("shop", "cart-0", leaf.renew_at)
    assert fresh.roots.count(b"BEGIN") == 2
    assert fresh.renew_at > leaf.renew_at + timedelta(days=50)


# --- the operator's own ---


class Replica:
    def __init__(self, api: SecretApi, folder: Path) -> None:
        self.files = TlsFiles(folder)
        self.authority = authority_of(api)
        self.loop = asyncio.get_running_loop()
        self.own = OwnCertificate(self.authority, self.files, self.now)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.loop.time())


def simulate(api: SecretApi, folder: Path, scenario: Callable[[Replica], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        replica = Replica(api, folder)
        async with asyncio.TaskGroup() as group:
            await replica.own.obtain(iter([1.0, 2.0, 4.0]))
            keeping = group.create_task(replica.own.keep())
            result = await scenario(replica)
            keeping.cancel()
        return result

    return virtual_time.run(run(), seed=1)


def test_its_files_are_its_own_and_name_the_operator(tmp_path: Path) -> None:
    with private_folder(tmp_path) as folder:

        async def scenario(replica: Replica) -> None:
            paths = (replica.files.certificate, replica.files.key, replica.files.roots)
            assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
            assert sorted(folder.iterdir()) == sorted(paths)
            assert names_in(replica.files.certificate.read_bytes()) == [operator_identity(HERE).uri]

        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        simulate(SecretApi(), folder, scenario)
    assert list(tmp_path.iterdir()) == []


def test_an_api_server_that_refuses_is_asked_again(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> float:
        return replica.loop.time()

    api = SecretApi(ForbiddenError("not yet"), UnreachableError("cut"), ConflictError("another was faster"))
    assert 7 < simulate(api, tmp_path, scenario) < 8


def test_the_files_are_left_alone_until_they_are_due_and_then_replaced(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        first = stamp_of(replica.files)
        await asyncio.sleep(timedelta(days=59).total_seconds())
        assert stamp_of(replica.files) == first
        await asyncio.sleep(timedelta(days=2).total_seconds())
        assert stamp_of(replica.files) != first
        assert renewal_time(replica.files.certificate.read_bytes()) > replica.now()

    simulate(SecretApi(), tmp_path, scenario)


def test_what_another_replica_did_is_seen_within_the_hour_and_a_failure_costs_a_minute(tmp_path: Path) -> None:
    api = SecretApi()

    async def scenario(replica: Replica) -> None:
        before = replica.files.roots.read_bytes()
        await Authority(KubeClient(api), HERE).load(ROOT_DUE)
        api.fails.append(UnreachableError("cut"))
        await asyncio.sleep(CHECK_EVERY.total_seconds() + 30)
        assert replica.files.roots.read_bytes() == before
        await asyncio.sleep(60)
        assert replica.files.roots.read_bytes().count(b"BEGIN") == 2

    simulate(api, tmp_path, scenario)


def test_a_program_that_reads_the_files_again_uses_them(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        reloading = Reloading(replica.files, ssl.Purpose.CLIENT_AUTH)
        first = reloading.context()
        await asyncio.sleep(timedelta(days=61).total_seconds())
        assert reloading.context() is not first

    simulate(SecretApi(), tmp_path, scenario)
