"""What is remembered of a cluster, and what a record begins with."""

from datetime import UTC, datetime

from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind, Leave, MoveFailure, Sleep
from valkey_operator.core.cluster.record import first_memory, memory_of, record_of

NOW = datetime(2026, 11, 16, 12, 0, 30, 250_000, tzinfo=UTC)


def test_what_is_remembered_is_read_back_as_it_was_to_the_millisecond() -> None:
    memory = ClusterRecord(
        formed=True,
        asleep=Sleep(shards=5, replicas=2, asked=3),
        attempts=(
            Attempt(shard=1, kind=FailoverKind.FORCE, source="a" * 40, target="c-1-1", at=NOW),
            Attempt(shard=2, kind=FailoverKind.PLANNED, source="b", target="c-2-1", at=NOW, why="it rests", tries=4),
        ),
        failures=(MoveFailure(source=0, target=3, count=2, error="no slots", at=NOW),),
        leave=Leave(epoch=7, witnesses=("c-0-0", "c-1-0"), former=("c-2-0",), without=("c-0-1",), kept=True),
    )
    assert memory_of(record_of("c", memory)) == memory


def test_a_record_of_nothing_is_read_back_as_nothing() -> None:
    assert memory_of(record_of("c", ClusterRecord())) == ClusterRecord()


def test_a_record_names_its_cluster_and_leaves_the_choice_of_primaries_to_the_servers() -> None:
    record = record_of("c", ClusterRecord(formed=True))
    assert (record.owner.kind, record.owner.name, record.authority, record.primary) == (
        "ValkeyCluster",
        "c",
        "Cluster",
        None,
    )


def test_the_epoch_of_a_record_is_that_of_leave_to_write_so_that_the_api_server_lets_it_only_grow() -> None:
    memory = ClusterRecord(leave=Leave(epoch=7, witnesses=("c-0-0",)))
    assert (record_of("c", ClusterRecord()).epoch, record_of("c", memory).epoch) == (0, 7)


def test_a_cluster_without_nodes_and_volumes_is_a_new_one() -> None:
    assert first_memory((), 3) == ClusterRecord()


def test_one_that_finds_volumes_was_formed_and_wakes_up_with_all_shards_that_there_were() -> None:
    memory = first_memory({(0, 0), (4, 0), (1, 1)}, 3)
    assert memory == ClusterRecord(formed=True, asleep=Sleep(shards=5, replicas=2, asked=3))
