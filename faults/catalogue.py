"""All kinds of faults by name, and which of them come in storms."""

from faults import control_kinds, machine_kinds, pod_kinds
from faults.cluster_kinds import IN_SETTINGS_OF_THEIR_OWN, OnCluster
from faults.cluster_kinds import USUAL as CLUSTER_USUAL
from faults.kinds import Kind
from faults.migration_kinds import MIGRATION_KINDS
from faults.promises import Promise
from faults.schedule import CLUSTER_STORM, STORM, Lasting, Plan, is_for_cluster, plan
from faults.settings import Setting

OF_VALKEYS: tuple[type[Kind], ...] = (
    pod_kinds.KillPrimary,
    pod_kinds.DeletePod,
    pod_kinds.ForceDeletePod,
    pod_kinds.SwitchOver,
    pod_kinds.Roll,
    machine_kinds.CutMachine,
    machine_kinds.StopMachine,
    pod_kinds.PauseServer,
    pod_kinds.PausePod,
    control_kinds.KillPrimaryAndOperator,
    machine_kinds.CutMachineOfLeader,
    machine_kinds.PartPrimary,
    machine_kinds.PartOneWay,
    machine_kinds.Drain,
    pod_kinds.Scale,
    pod_kinds.Suspend,
    pod_kinds.FillDisk,
    pod_kinds.KillReplica,
    machine_kinds.SlowPrimary,
    control_kinds.CutOperator,
    control_kinds.KillOperator,
    control_kinds.KillOperatorInRoll,
    control_kinds.StopApiServer,
    control_kinds.SlowApiServer,
    pod_kinds.KillLargePrimary,
)
OF_CLUSTERS: tuple[type[OnCluster], ...] = (*CLUSTER_USUAL, *MIGRATION_KINDS, *IN_SETTINGS_OF_THEIR_OWN)
KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (*OF_VALKEYS, *OF_CLUSTERS)}
VALKEY_NAMES: tuple[str, ...] = (*(kind.name for kind in OF_VALKEYS), STORM)
CLUSTER_NAMES: tuple[str, ...] = (*(kind.name for kind in OF_CLUSTERS), CLUSTER_STORM)
NAMES: tuple[str, ...] = (*VALKEY_NAMES, *CLUSTER_NAMES)
USUAL: tuple[str, ...] = tuple(name for name in NAMES if name not in KINDS or not KINDS[name].is_costly)
"""In the order in which they are tried."""


def plan_of(name: str, seed: int) -> Plan:
    """The run of a kind and a seed."""
    return plan(name, seed, of_storms(name) if name in (STORM, CLUSTER_STORM) else {name: KINDS[name].lasting})


def of_storms(name: str) -> dict[str, Lasting]:
    """Of Valkeys all that is usual; of clusters what kills, rolls and scales, so that as many begin as can overlap."""
    if is_for_cluster(name):
        return {kind.name: kind.lasting for kind in OF_CLUSTERS if kind.comes_in_storms}
    return {kind.name: kind.lasting for kind in OF_VALKEYS if not kind.is_costly}


def promise_of(name: str) -> Promise:
    """Faults that overlap promise no more than the worst of them."""
    storms = {STORM: Promise.THAWED, CLUSTER_STORM: Promise.CLUSTER_UNPLANNED}
    return storms.get(name) or KINDS[name].promise


def setting_of(name: str) -> Setting:
    """What a kind is staged on."""
    storms = {STORM: Setting.VALKEY, CLUSTER_STORM: Setting.CLUSTER}
    return storms.get(name) or KINDS[name].setting


def usually_settled_s(name: str) -> float:
    """In which what was broken gets whole if it is fit for another run; after a storm it never is."""
    return 0.0 if name in (STORM, CLUSTER_STORM) else KINDS[name].usually_settled_s
