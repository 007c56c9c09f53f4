"""What a pod that does not come up says of itself."""

from datetime import UTC, datetime

from valkey_operator.controllers.kinds import PodCondition, PodObject, PodStatus
from valkey_operator.controllers.pods import last_words, pod_facts
from valkey_operator.kube.objects import ObjectMeta

LOG = """7:M 16 Nov 2026 04:02:18.100 * Server initialized
7:M 16 Nov 2026 04:02:18.101 # Module /m/none.so failed to load: It does not exist or does not have execute permissions.
7:M 16 Nov 2026 04:02:18.101 # Can't load module from /m/none.so: server aborting
"""


def test_the_last_words_of_a_server_are_told_without_their_times() -> None:
    words = last_words(LOG).split(" | ")
    assert words[0] == "Server initialized"
    assert words[-1] == "Can't load module from /m/none.so: server aborting"


def test_a_container_that_left_no_log_has_no_last_words() -> None:
    assert last_words("\n") == ""


READY = PodStatus(conditions=(PodCondition("Ready", "True", last_transition_time="2026-11-16T12:00:05Z"),))


def test_a_pod_changed_last_when_it_became_ready() -> None:
    found = pod_facts(PodObject(ObjectMeta(name="x-0-0"), status=READY), None)
    assert (found.ready, found.leaving, found.stops_at) == (True, False, None)
    assert found.changed_at == datetime(2026, 11, 16, 12, 0, 5, tzinfo=UTC)


def test_a_pod_that_leaves_changed_last_when_it_was_told_to() -> None:
    meta = ObjectMeta(name="x-0-0", deletion_timestamp="2026-11-16T12:00:40Z", deletion_grace_period_seconds=30)
    found = pod_facts(PodObject(meta, status=READY), None)
    assert found.stops_at == datetime(2026, 11, 16, 12, 0, 40, tzinfo=UTC)
    assert found.changed_at == datetime(2026, 11, 16, 12, 0, 10, tzinfo=UTC)
