import pytest

from tests.support import build
from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.agent.node import ASK_EVERY_S, ASK_SOON_S, SOON_FOR_S, ask_again_s
from valkey_operator.agent.probes import check_live, check_ready, probe_pages
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.info import LinkStatus, ReplicationInfo
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.wire.pages import respond


def facts(
    state: ProcessState = ProcessState.RUNNING,
    health: Health = Health.ANSWERS,
    replication: ReplicationInfo | None = None,
    cluster: ClusterState | None = None,
) -> Facts:
    view = ServerView(health=health, server=build.server(), replication=replication or build.primary(), cluster=cluster)
    return Facts(process=Watched(state, ProcessId(7, 1), 1), server=view)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (facts(), None),
        (facts(replication=build.replica()), None),
        (facts(health=Health.LOADING), "the server is loading"),
        (facts(health=Health.BUSY), "the server is busy"),
        (facts(health=Health.HUNG), "the server does not answer"),
        (facts(health=Health.UNREACHABLE), "the server is unreachable"),
        (facts(health=Health.REFUSES), "the server refuses us"),
        (facts(ProcessState.WAITING), "the server is waiting"),
        (facts(ProcessState.GONE), "the server is gone"),
        (Facts(process=Watched(ProcessState.RUNNING)), "the server was not asked yet"),
        (facts(replication=build.replica(status=LinkStatus.DOWN)), "the link to 10.0.0.1:6379 is down"),
        (
            facts(replication=build.replica(status=LinkStatus.DOWN, sync_in_progress=True)),
            "the link to 10.0.0.1:6379 is synchronising",
        ),
    ],
)
def test_a_server_is_ready_when_its_data_can_be_trusted(given: Facts, problem: str | None) -> None:
    assert check_ready(given) == problem


@pytest.mark.parametrize("state", list(ProcessState))
def test_only_a_server_that_died_is_not_alive(state: ProcessState) -> None:
    assert (check_live(facts(state)) is None) == (state is not ProcessState.GONE)


@pytest.mark.parametrize("health", list(Health))
def test_a_server_that_answers_badly_or_not_is_alive(health: Health) -> None:
    assert check_live(facts(health=health)) is None


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        (b"GET /readyz HTTP/1.1", b"HTTP/1.1 503 Service Unavailable"),
        (b"GET /livez?x HTTP/1.1", b"HTTP/1.1 200 OK"),
        (b"GET /healthz HTTP/1.1", b"HTTP/1.1 200 OK"),
        (b"POST /livez HTTP/1.1", b"HTTP/1.1 405 Method Not Allowed"),
        (b"GET /secret HTTP/1.1", b"HTTP/1.1 404 Not Found"),
        (b"GET /livez SSH/2.0", b"HTTP/1.1 400 Bad Request"),
        (b"", b"HTTP/1.1 400 Bad Request"),
    ],
)
def test_the_pages_answer_in_http(request_line: bytes, answer: bytes) -> None:
    pages = probe_pages(lambda: facts(ProcessState.WAITING))
    assert respond(pages, request_line + b"\r\n\r\n").startswith(answer + b"\r\n")


@pytest.mark.parametrize(
    ("given", "unchanged_s", "pause_s"),
    [
        (facts(), 0, ASK_EVERY_S),
        (facts(ProcessState.WAITING), 0, ASK_EVERY_S),
        (facts(health=Health.LOADING), 0, ASK_SOON_S),
        (facts(replication=build.replica(status=LinkStatus.DOWN)), SOON_FOR_S - 1, ASK_SOON_S),
        (facts(replication=build.replica(status=LinkStatus.DOWN)), SOON_FOR_S, ASK_EVERY_S),
        (
            facts(cluster=ClusterState(nodes="07c3 10.0.0.2:6379@16379 master,fail? - 0 0 1 connected 0-5")),
            0,
            ASK_SOON_S,
        ),
        (
            facts(cluster=ClusterState(nodes="07c3 10.0.0.2:6379@16379 master,fail - 0 0 1 connected 0-5")),
            0,
            ASK_EVERY_S,
        ),
    ],
)
def test_a_server_that_is_about_to_get_ready_or_to_give_another_one_up_is_asked_more_often(
    given: Facts, unchanged_s: float, pause_s: float
) -> None:
    assert ask_again_s(given, unchanged_s) == pause_s
