import asyncio
from collections.abc import Callable

import httpx2
import pytest
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster, User

from tests.sim import virtual_time
from valkey_operator.cli.operator import become_ready, run_until
from valkey_operator.kube.api_server import ApiServerError, read_version
from valkey_operator.kube.connection import Session, open_session
from valkey_operator.runtime.health import Readiness

VERSION = {"major": "1", "minor": "34", "gitVersion": "v1.34.4", "platform": "linux/amd64"}
Answer = Callable[[httpx2.Request], httpx2.Response]


def session_answered_by(answer: Answer) -> Session:
    config = KubeConfig.from_one(cluster=Cluster(server="http://api"), user=User()).get()
    assert isinstance(config, SingleConfig)
    return open_session(config, httpx2.MockTransport(answer))


def answers_after(up_at_s: float) -> Answer:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if asyncio.get_running_loop().time() < up_at_s:
            raise httpx2.ConnectError("connection refused", request=request)
        return httpx2.Response(200, json=VERSION)

    return answer


def test_the_operator_is_ready_soon_after_the_api_server_is_up() -> None:
    async def start() -> float:
        readiness = Readiness(waiting_for="the API server")
        async with session_answered_by(answers_after(600)) as session:
            await become_ready(session, readiness)
        assert readiness.waiting_for is None
        return asyncio.get_running_loop().time()

    assert 600 <= virtual_time.run(start(), seed=1) <= 615


def test_a_stop_ends_the_waiting_at_once_and_it_was_never_ready() -> None:
    async def start_and_stop() -> float:
        readiness = Readiness(waiting_for="the API server")
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(42, stop.set)
        async with session_answered_by(answers_after(600)) as session:
            await run_until(stop, become_ready(session, readiness))
        assert readiness.waiting_for == "the API server"
        return asyncio.get_running_loop().time()

    for seed in range(20):
        assert virtual_time.run(start_and_stop(), seed=seed) == 42


def test_a_defect_in_the_work_ends_the_operator_instead_of_leaving_it_idle() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError("defect")

    async def start() -> None:
        await run_until(asyncio.Event(), fail())

    with pytest.raises(ExceptionGroup) as caught:
        virtual_time.run(start(), seed=1)
    assert caught.group_contains(LookupError, match="defect")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (httpx2.Response(401), "answered 401 to GET /version"),
        (httpx2.Response(200, text="<html>a proxy's page</html>"), "GET /version is not a Kubernetes version"),
        (httpx2.Response(200, content=b"\xff"), "GET /version is not a Kubernetes version"),
        (httpx2.Response(200, json={}), "missing required field `gitVersion`"),
    ],
)
def test_an_odd_answer_is_a_reason_to_ask_again(response: httpx2.Response, reason: str) -> None:
    async def ask() -> None:
        async with session_answered_by(lambda _: response) as session:
            await read_version(session)

    with pytest.raises(ApiServerError, match=reason):
        virtual_time.run(ask(), seed=1)
