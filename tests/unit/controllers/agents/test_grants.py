"""Leave to write that the leader gives to the nodes of a cluster; that of a Valkey's primary: test_receiver.py."""

from typing import Any

import pytest

from valkey_operator.api.shard import ClusterLeave, ClusterMemory, ShardOwner, ValkeyShardSpec
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.kube.objects import Key, ObjectMeta

LEAVE = ClusterLeave(witnesses=["c-0-0", "c-1-0", "c-2-0"], without=["c-1-0"])


class Records:
    def __init__(self, **specs: ValkeyShardSpec) -> None:
        self._specs = specs

    def get(self, key: Key) -> ShardObject | None:
        spec = self._specs.get(key.name.replace("-", "_"))
        meta = ObjectMeta(namespace=key.namespace, name=key.name)
        return None if spec is None or key.namespace != "app" else ShardObject(metadata=meta, spec=spec)


def record(leave: ClusterLeave | None = LEAVE) -> ValkeyShardSpec:
    owner = ShardOwner(kind="ValkeyCluster", name="c")
    return ValkeyShardSpec(owner=owner, index=0, epoch=7, cluster=ClusterMemory(leave=leave))


def granted(node: str, epoch: int = 7, *, namespace: str = "app", **specs: ValkeyShardSpec) -> bool:
    grants = Grants(lambda: 0.0)
    records: Any = Records(**specs)
    grants.read_from(records)
    return grants.may_write(Key(namespace, node), epoch, "uid")


@pytest.mark.parametrize(
    ("node", "epoch", "expected"),
    [
        pytest.param("c-0-0", 7, True, id="a node"),
        pytest.param("c-2-5", 7, True, id="one that is no witness"),
        pytest.param("c-0-0", 6, False, id="in an epoch of before"),
        pytest.param("c-0-0", 8, False, id="in one that nobody announced"),
        pytest.param("c-1-0", 7, False, id="one that the record leaves out"),
        pytest.param("c-0", 7, False, id="a name that is no node's"),
        pytest.param("c-0-00", 7, False, id="a name that looks like one"),
    ],
)
def test_in_a_cluster_the_leader_gives_leave_in_the_epoch_on_record_to_all_but_those_left_out(
    node: str, epoch: int, expected: bool
) -> None:
    assert granted(node, epoch, c=record()) is expected


def test_no_leave_is_given_where_none_is_on_record_or_the_cluster_is_of_another_namespace() -> None:
    assert not granted("c-0-0", c=record(None))
    assert not granted("c-0-0", namespace="attic", c=record())
    assert not granted("c-0-0")


def test_a_valkey_whose_name_begins_like_that_of_a_cluster_is_asked_for_its_own_record() -> None:
    valkey = ValkeyShardSpec(owner=ShardOwner(kind="Valkey", name="c-0"), index=0, epoch=7, primary="c-0-1")
    assert not granted("c-0-0", c=record(), c_0=valkey)
    assert granted("c-0-1", c=record(), c_0=valkey)
