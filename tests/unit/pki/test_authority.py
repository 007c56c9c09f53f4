import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from tests.support.certificates import Authority, handshake, write_tls
from valkey_operator.pki.authority import make_key, make_leaf, make_root
from valkey_operator.pki.rotation import is_signed_by, render_bundle, renewal_time
from valkey_operator.wire.identity import has_identity, node_identity, operator_identity
from valkey_operator.wire.tls import Reloading, TlsFiles, TlsFilesError, make_context

NOW = datetime.now(UTC).replace(microsecond=0)
NODE = node_identity("shop", "cart-0")
OPERATOR = operator_identity("valkey-operator-system")


def test_two_programs_of_one_authority_trust_each_other_under_strict_checks(tmp_path: Path) -> None:
    authority = Authority()
    server = write_tls(tmp_path / "server", authority.leaf(NODE), authority.root.certificate)
    client = write_tls(tmp_path / "client", authority.leaf(OPERATOR), authority.root.certificate)

    assert handshake(server, client) == ([OPERATOR.uri], [NODE.uri])


def test_a_program_of_another_authority_is_refused(tmp_path: Path) -> None:
    ours, theirs = Authority(), Authority()
    server = write_tls(tmp_path / "server", ours.leaf(NODE), ours.root.certificate)
    client = write_tls(tmp_path / "client", theirs.leaf(OPERATOR), ours.root.certificate)

    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client)


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    authority = Authority()
    server = write_tls(tmp_path / "server", authority.leaf(NODE), authority.root.certificate)
    expired = authority.leaf(OPERATOR, now=NOW - timedelta(days=91))
    client = write_tls(tmp_path / "client", expired, authority.root.certificate)

    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(server, client)


def test_while_an_authority_is_replaced_old_and_new_certificates_are_trusted(tmp_path: Path) -> None:
    old, new = Authority(), Authority()
    bundle = render_bundle([old.root.certificate, new.root.certificate], now=NOW)
    server = write_tls(tmp_path / "server", new.leaf(NODE), bundle)
    client = write_tls(tmp_path / "client", old.leaf(OPERATOR), bundle)

    assert handshake(server, client) == ([OPERATOR.uri], [NODE.uri])


def test_a_leaf_names_its_identity_and_hosts_and_begins_before_now() -> None:
    authority = Authority()
    leaf = make_leaf(make_key(), authority.root, NODE, hosts=["cart-0.shop.svc", "10.0.0.1", "fd00::1"], now=NOW)
    parsed = x509.load_pem_x509_certificate(leaf.certificate)
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [NODE.uri]
    assert names.get_values_for_type(x509.DNSName) == [NODE.host_name, "cart-0.shop.svc"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "fd00::1"]
    assert parsed.not_valid_before_utc == NOW - timedelta(hours=1)
    assert parsed.not_valid_after_utc == NOW + timedelta(days=90)


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    leaf = Authority().leaf(NODE, now=NOW)
    assert NOW + timedelta(days=59) < renewal_time(leaf.certificate) < NOW + timedelta(days=60)


def test_a_bundle_has_each_valid_root_once_newest_first() -> None:
    expired = make_root(make_key(), name="expired", now=NOW - timedelta(days=4000)).certificate
    old = make_root(make_key(), name="old", now=NOW - timedelta(days=10)).certificate
    new = make_root(make_key(), name="new", now=NOW).certificate

    assert render_bundle([old, expired, new, old], now=NOW) == new + old


def test_it_is_known_which_root_signed_a_leaf() -> None:
    one, other = Authority(), Authority()
    leaf = one.leaf(NODE).certificate

    assert is_signed_by(leaf, one.root.certificate)
    assert not is_signed_by(leaf, other.root.certificate)


def test_a_second_name_in_a_certificate_is_refused() -> None:
    assert has_identity([NODE.uri], NODE)
    assert not has_identity([NODE.uri, OPERATOR.uri], NODE)
    assert not has_identity([], NODE)
    assert not has_identity([NODE.uri + "0"], NODE)


def test_replaced_files_are_used_for_the_next_connection_and_half_replaced_ones_are_not(tmp_path: Path) -> None:
    authority = Authority()
    files = write_tls(tmp_path / "tls", authority.leaf(NODE), authority.root.certificate)
    reloading = Reloading(files, ssl.Purpose.CLIENT_AUTH)
    first = reloading.context()
    assert reloading.context() is first
    fresh = authority.leaf(NODE)
    files.certificate.write_bytes(fresh.certificate)
    assert reloading.context() is first
    files.key.write_bytes(fresh.key)
    assert reloading.context() is not first


def test_files_that_are_missing_are_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TlsFilesError, match=r"the TLS files in .* cannot be used: No such file or directory\."):
        make_context(TlsFiles(tmp_path), ssl.Purpose.SERVER_AUTH)
