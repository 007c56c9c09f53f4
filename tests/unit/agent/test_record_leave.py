"""Whom a record lets write."""

import pytest

from valkey_operator.agent.record import PendingChange, RecordedCluster, RecordedLeave, ShardRecord
from valkey_operator.agent.record_leave import names_writer

OF_CLUSTER = ShardRecord(epoch=7, cluster=RecordedCluster(leave=RecordedLeave(without=("c-1-0",))))


@pytest.mark.parametrize(
    ("record", "node", "epoch", "expected"),
    [
        pytest.param(ShardRecord(epoch=7, primary="x-0"), "x-0", 7, True, id="the primary"),
        pytest.param(ShardRecord(epoch=7, primary="x-0"), "x-1", 7, False, id="another one"),
        pytest.param(ShardRecord(epoch=7, primary="x-0", pending=PendingChange(epoch=8)), "x-0", 7, False, id="change"),
        pytest.param(OF_CLUSTER, "c-0-0", 7, True, id="a node of a cluster"),
        pytest.param(OF_CLUSTER, "c-0-0", 6, False, id="in an older epoch"),
        pytest.param(OF_CLUSTER, "c-1-0", 7, False, id="one that is left out"),
        pytest.param(ShardRecord(epoch=7, cluster=RecordedCluster()), "c-0-0", 7, False, id="none on record"),
    ],
)
def test_a_record_lets_its_primary_write_and_in_a_cluster_all_but_those_left_out(
    record: ShardRecord, node: str, epoch: int, expected: bool
) -> None:
    assert names_writer(record, node, epoch) is expected
