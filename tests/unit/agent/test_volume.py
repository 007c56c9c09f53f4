"""The lock on the data folder. Two locks of one process exclude each other as those of two pods do."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from valkey_operator.agent.volume import END_WITHIN_S, LOCK_FILE, RETURN_WITHIN_S, VolumeLock, VolumeTakenError


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Pods:
    """Locks of agents of any pod on one folder; all are let go of with the test."""

    def __init__(self, folder: Path, ending: ExitStack) -> None:
        self.folder = folder
        self.clock = Clock()
        self._ending = ending

    def agent_of(self, pod_uid: str) -> VolumeLock:
        lock = VolumeLock(self.folder, pod_uid, self.clock)
        self._ending.callback(lambda: lock.end(is_free=False))
        return lock


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    with ExitStack() as ending:
        yield Pods(tmp_path, ending)


def test_one_pod_at_a_time_has_the_folder_and_the_other_is_told_who(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    first.take()
    with pytest.raises(VolumeTakenError, match="pod a has the data folder"):
        second.take()


def test_a_pod_that_ended_in_order_costs_no_wait(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    first.end(is_free=True)
    second.take()
    with pytest.raises(VolumeTakenError, match="pod b has"):
        first.take()


def test_an_agent_that_falls_comes_back_to_its_folder_though_another_waits_for_it(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    for _ in range(3):
        first.end(is_free=False)
        for _ in range(10):
            pods.clock.now_s += RETURN_WITHIN_S / 11
            with pytest.raises(VolumeTakenError, match="pod a may come back"):
                second.take()
        first = pods.agent_of("a")
        first.take()
        with pytest.raises(VolumeTakenError, match="pod a has"):
            second.take()


def test_the_folder_of_a_pod_that_does_not_come_back_is_taken_over(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    first.end(is_free=False)
    with pytest.raises(VolumeTakenError):
        second.take()
    pods.clock.now_s += RETURN_WITHIN_S
    second.take()
    with pytest.raises(VolumeTakenError, match="pod b has"):
        pods.agent_of("a").take()


def test_the_folder_of_a_pod_that_ends_together_with_its_server_is_taken_over_soon(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    first.will_end()
    with pytest.raises(VolumeTakenError, match="pod a has"):
        second.take()
    first.end(is_free=False)
    with pytest.raises(VolumeTakenError, match="pod a may come back"):
        second.take()
    pods.clock.now_s += END_WITHIN_S
    second.take()


def test_an_agent_that_was_ended_alone_and_comes_back_has_its_folder_as_before(pods: Pods) -> None:
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    first.will_end()
    first.end(is_free=False)
    again = pods.agent_of("a")
    again.take()
    again.end(is_free=False)
    with pytest.raises(VolumeTakenError):
        second.take()
    pods.clock.now_s += END_WITHIN_S
    with pytest.raises(VolumeTakenError, match="pod a may come back"):
        second.take()


@pytest.mark.parametrize("text", ["", "{", "[]", "\0" * 9, '{"pod_uid": 7}'])
def test_a_file_that_names_nobody_is_nobodys(pods: Pods, text: str) -> None:
    (pods.folder / LOCK_FILE).write_text(text)
    pods.agent_of("b").take()


def test_a_folder_that_cannot_be_locked_is_used_without(pods: Pods) -> None:
    (pods.folder / LOCK_FILE).mkdir()
    first, second = pods.agent_of("a"), pods.agent_of("b")
    first.take()
    second.take()
    first.end(is_free=True)
