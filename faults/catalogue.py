"""All kinds of faults by name, and which of them come in storms."""

from faults import control_kinds, machine_kinds, pod_kinds
from faults.kinds import Kind
from faults.promises import Promise
from faults.schedule import STORM, Plan, plan

ALL: tuple[type[Kind], ...] = (
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
KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in ALL}
NAMES: tuple[str, ...] = (*KINDS, STORM)
USUAL: tuple[str, ...] = (*(name for name, kind in KINDS.items() if not kind.is_costly), STORM)
"""In the order in which they are tried."""


def plan_of(name: str, seed: int) -> Plan:
    """The run of a kind and a seed; storms are made of what is usual."""
    lasting = {kind.name: kind.lasting for kind in ALL if name == kind.name or not kind.is_costly}
    return plan(name, seed, lasting)


def promise_of(name: str) -> Promise:
    """Faults that overlap promise no more than the worst of them."""
    return Promise.THAWED if name == STORM else KINDS[name].promise
