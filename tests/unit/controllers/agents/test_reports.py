from typing import Any

import msgspec
import pytest

from valkey_operator.controllers.agents.reports import MOST_PODS, Reports, report_lane
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Change
from valkey_operator.runtime.queue import Lane
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState

KEY = Key("shop", "cart-0")
LINK = LinkView(primary=Address("10.0.0.1", 6379), up=True)
VIEW = NodeView(
    pod_uid="uid",
    boot_id="boot",
    seq=1,
    process=ProcessState.RUNNING,
    health=Health.ANSWERS,
    role=Role.REPLICA,
    link=LINK,
)


def view(**changes: Any) -> NodeView:
    return msgspec.structs.replace(VIEW, **changes)


class Ground:
    """Reports on a clock of our own, and what a subscriber heard."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reports = Reports(lambda: self.now)
        self.heard: list[Change[NodeView]] = []
        self.end = self.reports.subscribe(self.heard.append)

    def put(self, *views: NodeView) -> None:
        for each in views:
            self.reports.put(KEY, each)

    def seen(self, pod_uid: str | None = None) -> NodeView | None:
        received = self.reports.get(KEY, pod_uid)
        return received.view if received else None


def test_the_newest_report_is_kept_with_the_time_it_came() -> None:
    ground = Ground()
    assert ground.reports.get(KEY) is None
    ground.put(view())
    ground.now = 160.0
    ground.put(view(offset=9))
    received = ground.reports.get(KEY)
    assert received is not None
    assert (received.view.offset, received.at) == (9, 160.0)


def test_an_older_report_of_the_same_agent_is_dropped_and_does_not_count_as_heard() -> None:
    ground = Ground()
    ground.put(view(seq=2, starts=2))
    ground.now = 160.0
    ground.put(view(seq=1, starts=1))
    received = ground.reports.get(KEY)
    assert received is not None
    assert (received.view.starts, received.at) == (2, 100.0)
    assert len(ground.heard) == 1


def test_a_report_from_before_an_agent_fell_silent_is_no_news_of_it() -> None:
    ground = Ground()
    ground.put(view(seq=2, starts=2))
    ground.reports.drop(KEY, "uid")
    ground.put(view(seq=1, starts=1))
    assert ground.seen() is None
    ground.put(view(seq=2, starts=2))
    assert ground.seen() == view(seq=2, starts=2)


def test_an_agent_that_started_anew_counts_from_one() -> None:
    ground = Ground()
    ground.put(view(seq=7), view(seq=1, boot_id="later"))
    assert ground.seen() == view(seq=1, boot_id="later")


def test_a_deleted_pod_that_still_reports_does_not_hide_its_successor() -> None:
    ground = Ground()
    ground.put(view(pod_uid="new", starts=1), view(pod_uid="old", starts=9))
    assert ground.seen("new") == view(pod_uid="new", starts=1)
    assert ground.seen("old") == view(pod_uid="old", starts=9)
    assert ground.seen("other") is None


def test_of_many_pods_those_that_were_silent_for_longest_are_dropped() -> None:
    ground = Ground()
    ground.put(view(pod_uid="0"), view(pod_uid="1"), view(pod_uid="0"), view(pod_uid="2"), view(pod_uid="3"))
    assert [pod for pod in "0123" if ground.seen(pod)] == ["0", "2", "3"]
    assert MOST_PODS == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": 5},
        {"link": msgspec.structs.replace(LINK, received_offset=9)},
        {"copy": CopyView(offset=5)},
        {"seq": 2},
        {},
    ],
)
def test_what_moves_with_every_write_is_kept_and_not_told(changes: dict[str, Any]) -> None:
    ground = Ground()
    ground.put(view(), view(**changes))
    assert ground.seen() == view(**changes)
    assert len(ground.heard) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"process": ProcessState.GONE},
        {"health": Health.HUNG},
        {"role": None},
        {"link": None},
        {"link": msgspec.structs.replace(LINK, up=False)},
        {"copy": CopyView(epoch=3)},
        {"promised_epoch": 4},
        {"leaving": True},
        {"boot_id": "later"},
    ],
)
def test_every_other_change_is_told_with_what_was_before(changes: dict[str, Any]) -> None:
    ground = Ground()
    ground.put(view(), view(**changes))
    assert ground.heard[1:] == [Change(KEY, view(), view(**changes))]


def test_who_subscribes_late_is_told_what_is_there_and_who_ended_it_nothing() -> None:
    ground = Ground()
    ground.put(view())
    late: list[Change[NodeView]] = []
    ground.reports.subscribe(late.append)
    assert late == [Change(KEY, None, view(), initial=True)]
    ground.end()
    ground.put(view(starts=5))
    assert (len(ground.heard), len(late)) == (1, 2)


def test_a_forgotten_node_is_told_once_and_a_new_term_begins_with_nothing() -> None:
    ground = Ground()
    ground.put(view())
    ground.reports.forget(KEY)
    ground.reports.forget(KEY)
    assert ground.heard[1:] == [Change(KEY, view(), None)]
    ground.put(view())
    ground.reports.clear()
    assert ground.seen() is None


@pytest.mark.parametrize(
    ("old", "new", "lane"),
    [
        (None, view(), Lane.EDIT),
        (None, view(process=ProcessState.WAITING), Lane.URGENT),
        (view(), view(process=ProcessState.GONE), Lane.URGENT),
        (view(role=Role.PRIMARY), view(role=Role.REPLICA), Lane.URGENT),
        (view(role=Role.PRIMARY), view(role=None), Lane.URGENT),
        (view(role=Role.PRIMARY), view(role=Role.PRIMARY, leaving=True), Lane.EDIT),
        (view(role=Role.REPLICA), view(role=Role.PRIMARY), Lane.EDIT),
        (view(), None, Lane.EDIT),
    ],
)
def test_a_server_that_may_be_down_goes_first(old: NodeView | None, new: NodeView | None, lane: Lane) -> None:
    assert report_lane(Change(KEY, old, new)) is lane
    assert report_lane(Change(KEY, old, new, initial=True)) is Lane.RESYNC
