"""What a server is let in with, what is noted of its live settings, and what an order changes."""

import pytest

from valkey_operator.agent.live_settings import (
    NOT_KNOWN,
    Configured,
    NoDefaultError,
    changes_for,
    configured_by_order,
    configured_by_start,
    settings_at_start,
    under_way,
    with_own_fence,
)
from valkey_operator.agent.report import Facts, digest_of_settings
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import Start, StartKind
from valkey_operator.valkey.live import settings_digest
from valkey_operator.valkey.states import ProcessState

PROCESS, ANOTHER = ProcessId(7, 70), ProcessId(8, 80)
WITH_AOF = "appendonly yes\nsave 900 1\n"


def noted(*names: str, digest: str = "d") -> Configured:
    return Configured(process=PROCESS, names=names, digest=digest)


class TestStart:
    """What a server reads."""

    def test_the_file_is_read_as_it_is_and_noted(self) -> None:
        settings = settings_at_start("hz 20\ndatabases 3\n", has_snapshot=True, has_aof=False)
        assert settings.text == "hz 20\ndatabases 3\n"
        assert configured_by_start(PROCESS, settings) == noted("hz", digest=settings_digest({"hz": "20"}))

    def test_a_file_that_cannot_be_read_is_left_to_the_server_to_refuse(self) -> None:
        settings = settings_at_start('hz "20\n', has_snapshot=False, has_aof=False)
        assert settings.text == 'hz "20\n'
        assert configured_by_start(PROCESS, settings) == Configured(process=PROCESS, names=(), digest=NOT_KNOWN)

    def test_a_snapshot_is_not_passed_over_for_an_append_only_file_that_is_not_there(self) -> None:
        settings = settings_at_start(WITH_AOF, has_snapshot=True, has_aof=False)
        assert settings.text == WITH_AOF + "appendonly no\n"
        asked = settings_at_start(WITH_AOF, has_snapshot=True, has_aof=True)
        assert configured_by_start(PROCESS, settings).digest != configured_by_start(PROCESS, asked).digest

    @pytest.mark.parametrize(
        ("text", "has_snapshot", "has_aof"),
        [(WITH_AOF, True, True), (WITH_AOF, False, True), (WITH_AOF, False, False), ("appendonly no\n", True, False)],
    )
    def test_in_every_other_case_the_server_reads_what_it_was_told_to(
        self, text: str, has_snapshot: bool, has_aof: bool
    ) -> None:
        assert settings_at_start(text, has_snapshot=has_snapshot, has_aof=has_aof).text == text

    @pytest.mark.parametrize(("text", "number"), [("min-replicas-to-write 2\n", 2), ("hz 10\n", 1), ('hz "\n', 1)])
    def test_the_settings_say_how_many_replicas_a_write_needs_at_least(self, text: str, number: int) -> None:
        settings = settings_at_start(text, has_snapshot=False, has_aof=False)
        start = Start(kind=StartKind.WRITABLE_PRIMARY, min_replicas_to_write=1)
        assert with_own_fence(start, settings).min_replicas_to_write == number


class TestOrder:
    """What changes."""

    def test_what_is_wanted_is_set_and_what_is_not_any_more_is_set_back(self) -> None:
        changes = changes_for(noted("hz", "maxmemory"), {"hz": "20", "timeout": "5"})
        assert changes == {"maxmemory": "0", "hz": "20", "timeout": "5"}

    def test_nothing_is_touched_that_was_never_set(self) -> None:
        assert changes_for(noted(), {}) == {}

    def test_what_cannot_be_set_back_is_refused(self) -> None:
        with pytest.raises(NoDefaultError, match="'of-a-later-version'"):
            changes_for(noted("of-a-later-version"), {"hz": "20"})

    def test_names_are_noted_before_they_are_set_and_the_digest_afterwards(self) -> None:
        before, wanted = noted("hz"), {"timeout": "5"}
        assert under_way(before, wanted) == noted("hz", "timeout", digest=NOT_KNOWN)
        assert configured_by_order(before, wanted) == noted("timeout", digest=settings_digest(wanted))


class TestReport:
    """What the operator is told."""

    def test_the_digest_of_the_process_that_runs(self) -> None:
        running = Watched(ProcessState.RUNNING, PROCESS, 1)
        assert digest_of_settings(Facts(process=running, configured=noted())) == "d"

    def test_settings_of_a_former_process_say_nothing_of_this_one(self) -> None:
        running = Watched(ProcessState.RUNNING, ANOTHER, 2)
        assert digest_of_settings(Facts(process=running, configured=noted())) == NOT_KNOWN
        assert digest_of_settings(Facts(process=running)) == NOT_KNOWN

    def test_nothing_where_no_server_runs(self) -> None:
        waiting = Watched(ProcessState.WAITING, PROCESS, 1)
        assert digest_of_settings(Facts(process=waiting, configured=noted())) is None
