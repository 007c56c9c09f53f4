"""The API server itself: does it answer, and which version is it.

Owns: the question and its retries. Refuses to know: any object behind the API.
"""

import asyncio
from collections.abc import Iterator

import httpx2
import msgspec
import structlog
from lightkube.core.exceptions import ConfigError

from valkey_operator.kube.connection import Session

log = structlog.get_logger(__name__)


class ApiServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The part of GET /version that is worth a log line; every user may read it, so it needs no RBAC."""

    git_version: str
    platform: str = ""


class ApiServerError(Exception):
    """The API server did not answer as it should; it may do so later."""


async def read_version(session: Session) -> ApiServerVersion:
    """Ask once; raises `ApiServerError` with the reason where there is no sound answer."""
    try:
        response = await session.get("/version")
        response.raise_for_status()
        return msgspec.json.decode(response.content, type=ApiServerVersion)
    except httpx2.HTTPStatusError as error:
        raise ApiServerError(f"answered {error.response.status_code} to GET /version") from error
    except httpx2.HTTPError as error:
        raise ApiServerError(f"{type(error).__name__}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiServerError(f"GET /version is not a Kubernetes version: {error}") from error
    except (ConfigError, OSError) as error:  # a token file or a credential plugin that is not there
        raise ApiServerError(f"no credentials: {error}") from error


async def wait_for_api_server(session: Session, delays: Iterator[float]) -> ApiServerVersion:
    """Ask until there is an answer, pausing by `delays`; every failed attempt is logged with its reason."""
    server = str(session.base_url)
    for delay_s in delays:
        try:
            version = await read_version(session)
        except ApiServerError as error:
            log.warning("API server does not answer", server=server, reason=str(error), retry_in_s=round(delay_s, 3))
            await asyncio.sleep(delay_s)
        else:
            log.info("API server answers", server=server, version=version.git_version, platform=version.platform)
            return version
    raise ApiServerError(f"{server} did not answer and no attempt is left")
