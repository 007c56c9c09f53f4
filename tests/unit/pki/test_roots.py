from datetime import UTC, datetime, timedelta

import pytest

from valkey_operator.pki.authority import KeyPair, check_pair, make_key, make_leaf
from valkey_operator.pki.roots import SETTLES_IN, Roots, first_roots
from valkey_operator.pki.rotation import names_in, renewal_time
from valkey_operator.wire.identity import node_identity

NOW = datetime(2026, 11, 16, tzinfo=UTC)
DUE = NOW + timedelta(days=2434)
MINUTE = timedelta(minutes=1)
NODE = node_identity("shop", "cart-0")


@pytest.fixture(scope="module")
def first() -> Roots:
    return first_roots(make_key(), now=NOW)


@pytest.fixture(scope="module")
def second(first: Roots) -> Roots:
    return first.renewed(DUE, make_key)


def test_a_root_signs_alone_for_two_thirds_of_its_life(first: Roots) -> None:
    assert first.renewed(NOW, make_key) is first
    assert first.renewed(renewal_time(first.current.certificate) - MINUTE, make_key) is first
    assert first.signer(NOW) == first.current
    assert first.bundle(NOW) == first.current.certificate


def test_its_successor_is_trusted_for_a_day_before_it_signs(first: Roots, second: Roots) -> None:
    assert second.bundle(DUE) == second.current.certificate + first.current.certificate
    assert second.signer(DUE) == second.signer(DUE + SETTLES_IN - MINUTE) == first.current
    assert second.signer(DUE + SETTLES_IN) == second.current
    assert second.renewed(DUE + SETTLES_IN - MINUTE, make_key) is second


def test_the_former_key_is_dropped_once_it_signs_nothing_and_its_root_once_it_expired(
    first: Roots, second: Roots
) -> None:
    settled = second.renewed(DUE + SETTLES_IN, make_key)
    assert settled == Roots(current=second.current, former=first.current.certificate)
    assert settled.bundle(DUE + SETTLES_IN) == second.bundle(DUE)
    assert settled.renewed(DUE + timedelta(days=1000), make_key) is settled
    expired = NOW + timedelta(days=3650)
    assert settled.renewed(expired, make_key) == Roots(current=second.current)


def test_an_operator_that_was_away_for_years_signs_with_the_new_root_at_once(first: Roots) -> None:
    late = NOW + timedelta(days=4000)
    roots = first.renewed(late, make_key)
    assert roots.signer(late) == roots.current
    assert roots.bundle(late) == roots.current.certificate


def test_a_pair_that_does_not_belong_together_is_refused(first: Roots) -> None:
    check_pair(first.current)
    for wrong in (KeyPair(first.current.certificate, make_key()), KeyPair(b"x", make_key()), KeyPair(b"", b"")):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are those of cryptography
            check_pair(wrong)


def test_the_names_in_a_certificate_are_read(first: Roots) -> None:
    leaf = make_leaf(make_key(), first.current, NODE, now=NOW)
    assert names_in(leaf.certificate) == [NODE.uri]
    assert names_in(first.current.certificate) == []
