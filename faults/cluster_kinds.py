"""Faults of a ValkeyCluster: those of a Valkey, staged on one of its shards, and those that only a cluster has.

Where the primary stays in a Valkey, nothing more is promised than that no write is lost: primaries that failovers have
brought together are spread again whenever there is time for it.
"""

from collections import Counter
from typing import ClassVar

from faults.cluster_ground import ClusterGround
from faults.control_kinds import KillOperator
from faults.kinds import Kind
from faults.leader import keep_leader_off
from faults.machine_kinds import CutMachine
from faults.pod_kinds import DeletePod, ForceDeletePod, KillPrimary, KillReplica, PauseServer, Roll, Scale
from faults.problems import NotThereError
from faults.promises import Promise
from faults.schedule import Lasting
from faults.settings import NODES_PER_SHARD, SHARDS, Setting
from testbed.faults import Fault, NodeCut

SPREAD_WITHIN_S = 90
CHANGED_S = 90.0
"""In which new shards, or new pods for all, are usually whole."""


class OnCluster(Kind):
    """A fault of one shard, or of all."""

    ground: ClusterGround
    setting: ClassVar[Setting] = Setting.CLUSTER
    promise: ClassVar[Promise] = Promise.CLUSTER_REPLICATED
    usually_settled_s: ClassVar[float] = 20.0
    comes_in_storms: ClassVar[bool] = False


class ClusterKillPrimary(OnCluster, KillPrimary):
    name = "cluster-kill-primary"
    comes_in_storms = True


class ClusterKillPrimaryWithoutVolume(ClusterKillPrimary):
    """What is in the replica's memory is all that is left."""

    name = "cluster-kill-primary-no-volume"
    setting = Setting.CLUSTER_WITHOUT_VOLUMES
    comes_in_storms = False


class ClusterKillReplica(OnCluster, KillReplica):
    name = "cluster-kill-replica"
    promise = Promise.CLUSTER_PLANNED
    comes_in_storms = True


class ClusterDeletePod(OnCluster, DeletePod):
    name = "cluster-delete-pod"
    promise = Promise.CLUSTER_PLANNED
    comes_in_storms = True


class ClusterForceDeletePod(OnCluster, ForceDeletePod):
    name = "cluster-force-delete-pod"
    comes_in_storms = True


class ClusterForceDeleteAll(OnCluster):
    """Only what is on disk is left, and every node may have other slots in its file than in the end."""

    name = "cluster-force-delete-all"
    setting = Setting.CLUSTER_WITH_AOF

    def stage(self) -> str:
        nodes = sorted(self.ground.shop.pods())
        self.ground.delete_all_pods()
        return f"the pods of {', '.join(nodes)} deleted by force"


class ClusterRoll(OnCluster, Roll):
    name = "cluster-roll"
    promise = Promise.CLUSTER_PLANNED
    usually_settled_s = CHANGED_S
    comes_in_storms = True


class ClusterScaleShards(OnCluster, Scale):
    """Two more shards, and away with them again, whether they have got their slots or not."""

    name = "cluster-scale-shards"
    promise = Promise.CLUSTER_PLANNED
    lasting = Lasting(20, 45)
    usually_settled_s = CHANGED_S
    comes_in_storms = True

    def stage(self) -> str:
        self.ground.patch(shards=SHARDS + 2)
        return f"{SHARDS + 2} shards"

    def heal(self) -> None:
        self.ground.patch(shards=SHARDS)


class ClusterScaleReplicas(OnCluster, Scale):
    name = "cluster-scale-replicas"
    promise = Promise.CLUSTER_PLANNED
    usually_settled_s = CHANGED_S
    comes_in_storms = True
    usual = NODES_PER_SHARD
    others = (1, 3)


class ClusterPauseServer(OnCluster, PauseServer):
    name = "cluster-pause-server"


class ClusterKillOperator(OnCluster, KillOperator):
    name = "cluster-operator-kill"
    promise = Promise.CLUSTER_PLANNED
    comes_in_storms = True


class ClusterCutMachine(OnCluster, CutMachine):
    """A machine with as many primaries as this; the operator's leader is on another one."""

    name = "cluster-node-cut"
    primaries_there: ClassVar[int] = 1

    def prepare(self) -> None:
        self.ground.shop.cluster.wait_for(
            f"a machine without clients that has {self.primaries_there} primaries, not {self._found()}",
            self._chosen,
            self.ground.namespace,
            deadline_s=SPREAD_WITHIN_S,
        )
        keep_leader_off(self.ground, self._machine())

    def faults(self) -> list[Fault]:
        return [NodeCut(self._machine())]

    def _machine(self) -> str:
        if chosen := self._chosen():
            return chosen
        raise NotThereError(f"no machine without clients has {self.primaries_there} primaries: {self._found()}")

    def _chosen(self) -> str | None:
        counts = Counter(self._found().values())
        fitting = [machine for machine, count in sorted(counts.items()) if count == self.primaries_there]
        breakable = [machine for machine in fitting if machine != self.ground.clients_on]
        return breakable[self.variant % len(breakable)] if breakable else None

    def _found(self) -> dict[int, str]:
        return self.ground.machines_of_primaries()


class ClusterCutMachineOfTwo(ClusterCutMachine):
    """Most primaries are lost at once, so that those who are left elect nobody."""

    name = "cluster-node-cut-two"
    setting = Setting.CLUSTER_IN_TWO_ZONES
    primaries_there = 2


USUAL: tuple[type[OnCluster], ...] = (
    ClusterKillPrimary,
    ClusterKillReplica,
    ClusterDeletePod,
    ClusterForceDeletePod,
    ClusterPauseServer,
    ClusterKillOperator,
    ClusterCutMachine,
    ClusterRoll,
    ClusterScaleShards,
    ClusterScaleReplicas,
)
IN_SETTINGS_OF_THEIR_OWN: tuple[type[OnCluster], ...] = (
    ClusterKillPrimaryWithoutVolume,
    ClusterForceDeleteAll,
    ClusterCutMachineOfTwo,
)
