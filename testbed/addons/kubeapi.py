"""One request to a Kubernetes API server, and the kubeconfig that says where it is.

Knows nothing of kinds. Every failure is an ApiError; one without an answer of the server is UnreachableError.
"""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

Json = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
REQUEST_TIMEOUT_S = 30.0


class Request(Protocol):
    """How `Api.request` is called."""

    def __call__(self, method: str, path: str, body: Json | None = None, content_type: str = JSON) -> Json: ...


class ApiError(Exception):
    """The server refused: `status` is the HTTP status, `message` its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status
        self.message = message


class UnreachableError(ApiError):
    """No answer, or none that could be understood; whether a write happened is unknown."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(0, f"no answer of the API server: {str(cause) or type(cause).__name__}")


class Api:
    """A client of the cluster that a JSON kubeconfig's current context names. Safe to share between threads."""

    def __init__(self, kubeconfig: Path) -> None:
        cluster, user = _current(json.loads(kubeconfig.read_text()))
        address = urlsplit(cluster["server"])
        self._host = address.hostname or ""
        self._port = address.port or 443
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._tls.load_cert_chain(user["client-certificate"], user["client-key"])

    def request(self, method: str, path: str, body: Json | None = None, content_type: str = JSON) -> Json:
        """Send one request and return the object the server answers with."""
        response = self.open(method, path, body, content_type, timeout_s=REQUEST_TIMEOUT_S)
        try:
            answer: Json = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnreachableError(error) from error
        finally:
            response.close()
        return answer

    def open(
        self, method: str, path: str, body: Json | None = None, content_type: str = JSON, *, timeout_s: float
    ) -> http.client.HTTPResponse:
        """Send one request and return the answer unread; each read of it may take `timeout_s`."""
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._tls)
        # The server closes after its answer, so that the socket lives exactly as long as the response.
        headers = {"Accept": JSON, "Content-Type": content_type, "Connection": "close"}
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            if response.status >= http.client.BAD_REQUEST:
                raise ApiError(response.status, _message(response))
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise UnreachableError(error) from error
        return response


def _current(config: Json) -> tuple[Json, Json]:
    context = _named(config["contexts"], config["current-context"])["context"]
    return _named(config["clusters"], context["cluster"])["cluster"], _named(config["users"], context["user"])["user"]


def _named(entries: list[Json], name: str) -> Json:
    return next(entry for entry in entries if entry["name"] == name)


def _message(response: http.client.HTTPResponse) -> str:
    text = response.read().decode(errors="replace")
    response.close()
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip() or response.reason
