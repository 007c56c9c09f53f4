"""The model of servers that the simulations rest on, checked by real ones: the same events, and the same is true after.

A failure names the first event after which they differ, and what came before; the seed of the trace is in its name.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.sim.shard_chaos import MOVES, Life
from tests.sim.shard_events import Step
from tests.sim.shard_servers import Server
from tests.sim.shard_traces import TracedWorld
from tests.sim.shard_wander import Walk
from tests.valkey.trace_replay import DifferenceError, replay

EVENTS = 80
WALKS = range(6)
LIVES = (10, 34, 50, 57)
FAULTS = ("process", "pod", "disk", "network", "zone", "hang")
"""Without ghosts, of which a node has two servers; what agents do is not replayed."""
Mutation = Callable[[pytest.MonkeyPatch], None]


def replay_all(traces: dict[str, Sequence[Step]], version: str, folder: Path) -> None:
    """All at once: they wait for the servers' seconds most of the time."""

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            for name, trace in traces.items():
                group.create_task(replay(trace, version, folder / name))

    asyncio.run(run())


@pytest.mark.every_version
def test_after_whatever_is_ordered_or_strikes_servers_are_as_the_model_says(version: str, tmp_path: Path) -> None:
    replay_all({f"walk-{seed}": Walk(seed).run(EVENTS) for seed in WALKS}, version, tmp_path)


def test_after_what_the_planner_did_in_a_simulation_servers_are_as_the_model_says(version: str, tmp_path: Path) -> None:
    replay_all({f"life-{seed}": record(seed) for seed in LIVES}, version, tmp_path)


def record(seed: int) -> list[Step]:
    """What reached the servers in the life of a shard."""
    life = Life(seed, faults=FAULTS, wishes=MOVES, kind_of_world=TracedWorld)
    world = life.world
    assert isinstance(world, TracedWorld)
    world.append_only, world.durability = False, "Available"
    life.run()
    return world.trace


def resync_fully_always(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Server, "can_continue", lambda _source, _server: False)


def keep_the_history_when_promoted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Server, "begin_history", lambda _server, _history: None)


def take_writes_behind_a_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Server, "attached", lambda _server, _now: 10**9)


@pytest.mark.parametrize(
    ("seed", "mutation", "complaint"),
    [
        (0, resync_fully_always, "the answer is '.CONTINUE"),
        (0, keep_the_history_when_promoted, "replication id"),
        (2, take_writes_behind_a_fence, "it does not take"),
    ],
)
def test_a_model_without_one_of_its_rules_is_found_out(
    *, seed: int, mutation: Mutation, complaint: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutation(monkeypatch)
    trace = Walk(seed).run(EVENTS)
    with pytest.raises(DifferenceError, match=complaint):
        asyncio.run(replay(trace, version, tmp_path, deadline_s=1))
