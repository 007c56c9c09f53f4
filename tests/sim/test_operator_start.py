import asyncio
from collections.abc import Callable
from random import Random

import httpx2
import pytest
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster, User

from tests.sim import virtual_time
from valkey_operator.cli.engine import run_until
from valkey_operator.kube.api_server import ApiServerError, read_version, wait_for_api_server
from valkey_operator.kube.connection import Session, open_session
from valkey_operator.runtime.backoff import backoff_delays

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


def test_the_api_server_is_found_soon_after_it_is_up() -> None:
    async def start() -> float:
        async with session_answered_by(answers_after(600)) as session:
            await wait_for_api_server(session, backoff_delays(Random(1)))
        return asyncio.get_running_loop().time()

    assert 600 <= virtual_time.run(start(), seed=1) <= 615


def test_a_stop_ends_the_waiting_at_once() -> None:
    async def start_and_stop() -> float:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(42, stop.set)
        async with session_answered_by(answers_after(600)) as session:
            assert not await run_until(stop, wait_for_api_server(session, backoff_delays(Random(1))))
        return asyncio.get_running_loop().time()

    for seed in range(20):
        assert virtual_time.run(start_and_stop(), seed=seed) == 42


def test_work_that_comes_to_its_end_does_not_wait_for_a_stop() -> None:
    async def start() -> bool:
        return await run_until(asyncio.Event(), asyncio.sleep(5))

    assert virtual_time.run(start(), seed=1)


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
