import pytest

from tests.support import build
from valkey_operator.agent.moved_clients import has_clients_of_a_primary
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.valkey.boot import PARK_HOST
from valkey_operator.valkey.info import ReplicationInfo
from valkey_operator.valkey.states import Health


def seen_as(replication: ReplicationInfo | None) -> Facts:
    return Facts(server=ServerView(health=Health.ANSWERS, server=build.server(), replication=replication))


@pytest.mark.parametrize(
    ("facts", "has_some"),
    [
        pytest.param(seen_as(build.primary()), True, id="it is primary"),
        pytest.param(seen_as(build.replica(host=PARK_HOST)), True, id="it was parked"),
        pytest.param(seen_as(build.replica()), False, id="it follows somebody"),
        pytest.param(seen_as(None), False, id="it did not say"),
        pytest.param(Facts(), False, id="it was never asked"),
    ],
)
def test_only_a_server_that_could_be_taken_for_the_primary_has_clients_to_move(facts: Facts, has_some: bool) -> None:
    assert has_clients_of_a_primary(facts) == has_some
