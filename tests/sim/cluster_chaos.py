"""The life of a cluster that a seed draws: it is formed, changed, broken, healed, and must come to rest.

Owns: what happens when. Refuses to know: what can happen (cluster_faults.py), and what must hold (cluster_rules.py).
"""

from tests.sim.cluster_api_faults import end_api_faults
from tests.sim.cluster_bus import elect, finish_migrations, gossip, replicate, suspect
from tests.sim.cluster_clients import confirm, write
from tests.sim.cluster_faults import Event, end_faults
from tests.sim.cluster_leader import Spec
from tests.sim.cluster_operator import Operator
from tests.sim.cluster_rules import Rules, judge_rest
from tests.sim.cluster_world import World
from valkey_operator.valkey.states import ProcessState

CHAOS_TICKS = 25
REST_TICKS = 400
QUIET_TICKS = 5


def live(seed: int, events: tuple[Event, ...], *, crashes: float = 0.05, version: str = "9.1.2") -> None:
    """One life; a failure tells its story."""
    world = World(seed)
    rules = Rules(world)
    spec = Spec(3, world.chance.choice([1, 2, 2, 3]))
    operator = Operator(world, spec=spec, watch=rules.judge_plan, watch_removal=rules.judge_removal)
    try:
        _form(world, operator, rules, version)
        operator.crashes = crashes
        for _ in range(CHAOS_TICKS):
            if events and world.chance.random() < 0.3:
                world.chance.choice(events)(world, operator)
            _tick(world, operator, rules, version)
        operator.crashes = 0.0
        end_faults(world, operator)
        end_api_faults(world, operator)
        _come_to_rest(world, operator, rules, version)
    except AssertionError as problem:
        story = "\n".join(world.story[-80:])
        raise AssertionError(f"seed {seed}: {problem}\n{story}") from problem


def _tick(world: World, operator: Operator, rules: Rules, version: str) -> bool:
    for node in world.nodes.values():
        node.version = version
    pass_time(world)
    rules.judge_tick()
    acted = False
    for _ in range(3):
        plan = operator.look()
        acted = acted or bool(plan.steps) or plan.look_after_s is not None
        if not plan.steps:
            break
    return acted


def pass_time(world: World) -> None:
    """One tick of all that happens by itself."""
    world.tick += 1
    world.api.come_back(world.tick)
    world.restart_pods()
    world.fence()
    gossip(world)
    suspect(world)
    elect(world)
    finish_migrations(world)
    replicate(world)
    write(world)
    replicate(world)
    world.save()
    confirm(world)


def _form(world: World, operator: Operator, rules: Rules, version: str) -> None:
    for _ in range(40):
        acted = _tick(world, operator, rules, version)
        if operator.record.formed and not acted:
            break
    pass_time(world)
    judge_rest(world, operator)


def _come_to_rest(world: World, operator: Operator, rules: Rules, version: str) -> None:
    quiet = 0
    for _ in range(REST_TICKS):
        acted = _tick(world, operator, rules, version)
        busy = (
            acted
            or operator.sleepers
            or any(node.state is not ProcessState.RUNNING or node.stale for node in world.ours())
        )
        quiet = 0 if busy else quiet + 1
        if quiet >= QUIET_TICKS:
            break
    plan = operator.look()
    world.tell(f"at the end it waits for {plan.waits_for}")
    judge_rest(world, operator)
