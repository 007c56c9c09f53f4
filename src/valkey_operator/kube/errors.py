"""What the API server may answer instead of doing what was asked.

Owns: one exception per answer that a caller can treat differently. Refuses to know: who retries what, and when.
"""

import msgspec


class Cause(msgspec.Struct, frozen=True):
    """One field that the API server refused, and why."""

    field: str = ""
    message: str = ""
    reason: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[Cause] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct):
    """The object Kubernetes sends in place of the wanted one."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


class ApiError(Exception):
    """The API server did not do what was asked."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """How long the server wants to be left alone, where it said so."""


class NotFoundError(ApiError):
    """404: there is no such object, kind or namespace."""


class ConflictError(ApiError):
    """409: the object is not in the state that the request took for granted; read it again."""


class AlreadyExistsError(ConflictError):
    """409 to a create: there is an object of that name."""


class GoneError(ApiError):
    """410: that version is forgotten; list again."""


class TooManyRequestsError(ApiError):
    """429: come back after `retry_after_s`."""


class ForbiddenError(ApiError):
    """401 or 403: we may not; somebody has to change roles, quotas or credentials."""


class InvalidError(ApiError):
    """400 or 422: the object itself is refused, and will be again until it changes; `causes` name the fields."""

    def __init__(self, message: str, *, causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(message)
        self.causes = causes


class ServerError(ApiError):
    """5xx, or any answer that is not Kubernetes': it may be better later."""


class UnreachableError(ApiError):
    """No answer: refused, cut, or later than the deadline. A write may have happened or not."""


class SilentWatchError(UnreachableError):
    """A watch brought nothing, not even a bookmark, for too long."""


_BY_CODE: dict[int, type[ApiError]] = {
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    429: TooManyRequestsError,
}
_REFUSED = (400, 422)
# An apply with a field that the schema does not have is answered by 500 and these words (Kubernetes 1.34).
_NOT_IN_SCHEMA = "failed to create typed patch object"


def error_from_answer(request: str, code: int, body: bytes, retry_after: str = "") -> ApiError:
    """The error that an answer of this `code` is; `request` names what was asked, as in `PATCH /api/v1/…`."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status(message=body[:200].decode(errors="replace"))
    return error_from_status(request, msgspec.structs.replace(status, code=code), retry_after)


def error_from_status(request: str, status: Status, retry_after: str = "") -> ApiError:
    """The error that a `status` is, from an answer's body or from within a watch."""
    message = f"{request}: {status.code} {status.reason}: {status.message}"
    details = status.details or _Details()
    if status.code in _REFUSED or status.message.startswith(_NOT_IN_SCHEMA):
        return InvalidError(message, causes=tuple(details.causes or ()))
    if status.reason == "AlreadyExists":
        return AlreadyExistsError(message)
    kind = _BY_CODE.get(status.code, ServerError)
    return kind(message, retry_after_s=_seconds(retry_after, details.retry_after_seconds))


def _seconds(header: str, in_details: int) -> float | None:
    # A date is allowed here by HTTP, but the API server and its proxies send seconds.
    if header.isascii() and header.isdecimal():
        return float(header)
    return float(in_details) or None
