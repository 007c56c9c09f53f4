"""What a status says of servers that cannot write to their disk."""

from typing import Any

from tests.support.render import OWNER, effective
from tests.support.shards import NOW, a_primary, facts, member, replica_of
from valkey_operator.api.status import Condition, ConditionType
from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.core.shard.facts import Member
from valkey_operator.core.status.valkey import Findings, valkey_status
from valkey_operator.valkey.states import DiskError

FULL = DiskError.SNAPSHOT


def status_of(*members: Member, **changes: Any) -> ValkeyStatus:
    spec = {"replicas": len(members), **changes.pop("spec", {})}
    found = Findings(owner=OWNER, generation=1, spec=effective(**spec), shard=facts(*members, **changes), now=NOW)
    return valkey_status(found, None)


def condition(status: ValkeyStatus, type_: ConditionType) -> Condition:
    return next(each for each in status.conditions or () if each.type == type_)


def test_a_primary_that_cannot_save_is_degraded_and_takes_no_writes() -> None:
    status = status_of(member("x-0", a_primary(disk_error=FULL)))
    assert (status.state, status.reason, status.primary) == ("Degraded", "CannotPersist", "x-0")
    assert status.message == (
        "The server of x-0 cannot save its snapshot (rdb_last_bgsave_status is err), and refuses all writes (MISCONF). "
        "Most often the volume is full (x-0-data): raise spec.persistence.size, or free space on it, and it goes on by "
        "itself in seconds. If that is not it, the server says what is: "
        "kubectl logs --selector='valkey.io/node in (x-0)' --container=valkey"
    )
    elected = condition(status, ConditionType.PRIMARY_ELECTED)
    assert (elected.status, elected.reason, elected.message) == ("False", "CannotPersist", status.message)


def test_a_replica_that_cannot_write_is_told_and_the_primary_takes_writes() -> None:
    status = status_of(member("x-0", a_primary()), member("x-1", replica_of("x-0", disk_error=DiskError.AOF)))
    assert (status.state, status.reason) == ("Degraded", "CannotPersist")
    assert status.message is not None
    assert status.message.startswith(
        "The server of x-1 cannot write its append-only file (aof_last_write_status is err), and would refuse all "
        "writes as primary. Most often the volume is full (x-1-data)"
    )
    assert condition(status, ConditionType.PRIMARY_ELECTED).status == "True"


def test_every_node_with_a_full_disk_is_named() -> None:
    status = status_of(member("x-0", a_primary(disk_error=FULL)), member("x-1", replica_of("x-0", disk_error=FULL)))
    assert "(x-0-data, x-1-data)" in (status.message or "")
    assert "'valkey.io/node in (x-0,x-1)'" in (status.message or "")


def test_a_server_without_a_volume_is_not_told_to_grow_one() -> None:
    spec = {"persistence": {"enabled": False}}
    status = status_of(member("x-0", a_primary(disk_error=FULL)), spec=spec)
    assert "persistence.size" not in (status.message or "")
    assert "the disk of its machine is full" in (status.message or "")


def test_it_is_over_once_the_server_could_write() -> None:
    status = status_of(member("x-0", a_primary()))
    assert (status.state, status.reason) == ("Ready", "AllNodesHealthy")
