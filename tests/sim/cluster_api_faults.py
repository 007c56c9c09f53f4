"""What happens to the operator of a modelled cluster, and to the API server that it works with.

Owns: the events. Refuses to know: when they come (cluster_chaos.py), and what happens to nodes (cluster_faults.py).
"""

from tests.sim.cluster_operator import Operator
from tests.sim.cluster_world import World
from valkey_operator.core.cluster.steps import (
    AddSlots,
    Bind,
    BumpEpoch,
    Failover,
    Forget,
    Migrate,
    Open,
    Remember,
    Replicate,
    Reset,
    SettleSlots,
)

LONGEST_SLEEP = 25
PAUSED_BEFORE: tuple[tuple[type, ...], ...] = (
    (object,),
    (Remember,),
    (Failover,),
    (Failover, AddSlots, Migrate, Replicate, Reset, SettleSlots, Forget, BumpEpoch),
    (Open, Bind),
)


def lose_the_api_server(world: World, operator: Operator) -> None:
    """For less than a lease, or for longer."""
    if not world.api.is_away:
        world.api.away_since, world.api.back_at = world.tick, world.tick + world.chance.randint(1, 12)
        world.tell(f"the API server is away until {world.api.back_at}")


def write_the_record_in_between(world: World, operator: Operator) -> None:
    """Whoever has seen the version before writes in vain."""
    world.api.touch()
    world.tell("somebody else writes the record")


def let_the_cache_lag(world: World, operator: Operator) -> None:
    operator.late_until = world.tick + world.chance.randint(1, 4)
    world.tell(f"the leader's cache lags until {operator.late_until}")


def pause_the_leader(world: World, operator: Operator) -> None:
    """Before its next step of some sort; it wakes up while another one leads, or before."""
    operator.pauses_before = world.chance.choice(PAUSED_BEFORE)
    operator.sleeps_for = world.chance.randint(1, LONGEST_SLEEP)


def end_api_faults(world: World, operator: Operator) -> None:
    """The last of it: those who stand still wake up a little later."""
    world.api.back_at = world.tick
    operator.late_until, operator.pauses_before = 0, ()


API_FAULTS = (lose_the_api_server, write_the_record_in_between, let_the_cache_lag, pause_the_leader, pause_the_leader)
