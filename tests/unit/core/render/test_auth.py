"""The Secret with which clients log in."""

from typing import Any

import pytest

from valkey_operator.core.names import Owner
from valkey_operator.core.render.auth import auth_secret, parse_password


def held(password: str) -> Any:
    owner = Owner(kind="Valkey", namespace="shop", name="cart", uid="1")
    return auth_secret(owner, {}, password)["stringData"]


@pytest.mark.parametrize(
    ("password", "in_uri"),
    [("Plain-1_2.3~", "Plain-1_2.3~"), ("p@ss #w/ü:", "p%40ss%20%23w%2F%C3%BC%3A"), ("typed\n", "typed")],
)
def test_the_uri_works_with_any_password(password: str, in_uri: str) -> None:
    assert held(password)["password"] == password
    assert held(password)["uri"] == f"valkey://default:{in_uri}@cart.shop.svc:6379"


def test_only_what_a_server_can_take_is_a_password() -> None:
    assert parse_password({"password": b"x\n"}) == "x\n"
    for nothing in ({}, {"password": b""}, {"password": b"\n"}, {"password": b"\xff\xfe"}):
        assert parse_password(nothing) is None
