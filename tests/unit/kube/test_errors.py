import pytest

from valkey_operator.kube.errors import (
    AlreadyExistsError,
    ApiError,
    Cause,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    error_from_answer,
)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, InvalidError),
        (401, ForbiddenError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (410, GoneError),
        (422, InvalidError),
        (429, TooManyRequestsError),
        (500, ServerError),
        (503, ServerError),
        (418, ServerError),
    ],
)
def test_each_answer_has_its_error(code: int, kind: type[ApiError]) -> None:
    assert type(error_from_answer("GET /x", code, b"{}")) is kind


def test_a_name_that_is_taken_is_told_from_other_conflicts() -> None:
    error = error_from_answer("POST /x", 409, b'{"reason":"AlreadyExists"}')
    assert type(error) is AlreadyExistsError


def test_the_refused_fields_are_named() -> None:
    body = b'{"reason":"Invalid","details":{"causes":[{"field":"spec.x","message":"too large","reason":"F"}]}}'
    error = error_from_answer("PATCH /x", 422, body)
    assert isinstance(error, InvalidError)
    assert error.causes == (Cause("spec.x", "too large", "F"),)


@pytest.mark.parametrize(
    ("header", "body", "wait_s"),
    [
        ("3", b"{}", 3.0),
        ("", b'{"details":{"retryAfterSeconds":7}}', 7.0),
        ("", b"{}", None),
        ("Mon, 16 Nov 2026 00:00:00 GMT", b"{}", None),
    ],
)
def test_the_wish_to_be_left_alone_is_kept(header: str, body: bytes, wait_s: float | None) -> None:
    assert error_from_answer("GET /x", 429, body, header).retry_after_s == wait_s


def test_an_answer_that_is_not_from_kubernetes_is_quoted() -> None:
    assert "<html>a proxy" in str(error_from_answer("GET /x", 502, b"<html>a proxy's page\xff"))


def test_an_unknown_field_is_refused_for_good_although_the_server_calls_it_its_own_failure() -> None:
    body = b'{"code":500,"message":"failed to create typed patch object (a/b; /v1, Kind=ConfigMap): .x: field not ..."}'
    assert type(error_from_answer("PATCH /x", 500, body)) is InvalidError
