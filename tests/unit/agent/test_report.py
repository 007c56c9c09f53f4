import msgspec
import pytest

from tests.support import build
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.report import Facts, Persisted, Report, may_have_to_hand_over, next_report
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import PARK_HOST
from valkey_operator.valkey.info import LinkStatus, ReplicationInfo
from valkey_operator.valkey.states import DiskError, Health, ProcessState

RUNNING = Watched(ProcessState.RUNNING, ProcessId(7, 1), 1)


def view(replication: ReplicationInfo, uptime_s: int = 60) -> ServerView:
    return ServerView(
        health=Health.ANSWERS, server=build.server(uptime_s=uptime_s), replication=replication, least_replicas=0
    )


def facts(replication: ReplicationInfo, **changes: object) -> Facts:
    return msgspec.structs.replace(Facts(process=RUNNING, server=view(replication)), **changes)


FIRST = Report(pod_uid="uid", boot_id="boot", agent_version="1", seq=1, facts=facts(build.primary()))


@pytest.mark.parametrize(
    "changed",
    [
        facts(build.primary(offset=999)),
        facts(build.primary(replicas=())),
        facts(build.primary(), server=view(build.primary(), uptime_s=61)),
        facts(build.primary(), persisted=Persisted(offset=99)),
    ],
)
def test_a_position_that_moves_is_reported_under_the_same_number(changed: Facts) -> None:
    after = next_report(FIRST, changed)
    assert (after.seq, after.facts) == (1, changed)


@pytest.mark.parametrize(
    "changed",
    [
        facts(build.primary(replication_id="b" * 40)),
        facts(build.replica()),
        facts(build.primary(replicas=(build.connected_replica(),))),
        facts(build.primary(), process=Watched(ProcessState.GONE, ProcessId(7, 1), 1)),
        facts(build.primary(), promise=Promise(1, 2)),
        facts(build.primary(), persisted=Persisted(rdb=True)),
        facts(build.primary(), leaving=True),
        facts(build.primary(), server=msgspec.structs.replace(view(build.primary()), disk_error=DiskError.SNAPSHOT)),
    ],
)
def test_any_other_change_makes_a_new_number(changed: Facts) -> None:
    assert next_report(FIRST, changed).seq == 2


def test_a_link_that_breaks_is_a_change_and_that_it_stays_so_is_none() -> None:
    up = next_report(FIRST, facts(build.replica()))
    down = next_report(up, facts(build.replica(status=LinkStatus.DOWN, down_for_s=0)))
    later = next_report(down, facts(build.replica(status=LinkStatus.DOWN, down_for_s=1)))
    assert (up.seq, down.seq, later.seq) == (2, 3, 3)


def parked(**changes: object) -> ReplicationInfo:
    return msgspec.structs.replace(build.replica(host=PARK_HOST, status=LinkStatus.DOWN), **changes)


@pytest.mark.parametrize(
    ("given", "may_have"),
    [
        (facts(build.primary(replicas=(build.connected_replica(),))), True),
        (facts(build.primary()), False),
        (facts(parked(replicas=(build.connected_replica(),))), True),
        (facts(parked()), False),
        (facts(build.replica()), False),
        (facts(build.primary(), server=None), True),
        (facts(build.primary(), server=ServerView(health=Health.HUNG)), True),
        (Facts(process=Watched(ProcessState.STARTING, ProcessId(7, 1), 1)), True),
        (Facts(process=Watched(ProcessState.WAITING, ProcessId(7, 1), 1)), False),
        (Facts(process=Watched(ProcessState.GONE, ProcessId(7, 1), 1)), False),
        (Facts(), False),
    ],
)
def test_a_primary_with_replicas_hands_over_and_so_may_one_that_does_not_say_what_it_is(
    given: Facts, may_have: bool
) -> None:
    assert may_have_to_hand_over(given) == may_have
