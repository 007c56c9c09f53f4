"""The steps of the planner, given as orders to real agents beside real servers, do what they are meant to do."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.valkey.agent_cluster import AgentCluster, is_well, open_agents
from valkey_operator.core.cluster.facts import FailoverKind
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.scale import removable
from valkey_operator.core.cluster.slots import first_slots

pytestmark = pytest.mark.every_version

SIX = ("c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1")
KEYS = 300


def with_formed(
    version: str, folder: Path, *more: str, talk: Callable[[AgentCluster], Awaitable[None]], **settings: str
) -> None:
    """Six nodes from their gates to a whole cluster; further ones have agents, and no servers yet."""

    async def run() -> None:
        async with open_agents(version, folder, (*SIX, *more), **settings) as everybody:
            cluster = AgentCluster({name: everybody[name] for name in SIX})
            await cluster.start(*SIX)
            await cluster.work_until("it is formed", is_well(cluster))
            cluster.agents = everybody
            await talk(cluster)

    asyncio.run(run())


async def fill(cluster: AgentCluster, text: str = "") -> None:
    """Keys all over the slots, each written to its owner."""
    for number, owner in (await owners(cluster)).items():
        await cluster.say(owner, "SET", f"key:{number}", f"{text}{number}")


async def owners(cluster: AgentCluster) -> dict[int, str]:
    """The number of each key, and the node that owns its slot."""
    found = look_at(await cluster.facts())
    slots = {number: int(await cluster.say("c-1-0", "CLUSTER", "KEYSLOT", f"key:{number}")) for number in range(KEYS)}
    owning = {each.name: found.view.slots_of(each) for each in found.owners()}
    return {number: next(name for name in owning if slot in owning[name]) for number, slot in slots.items()}


def test_nodes_come_from_their_gates_to_a_whole_cluster(version: str, tmp_path: Path) -> None:
    async def talk(cluster: AgentCluster) -> None:
        found = look_at(await cluster.facts())
        assert [found.primaries[shard].name for shard in range(3)] == ["c-0-0", "c-1-0", "c-2-0"]
        assert [found.view.slots_of(found.primaries[shard]) for shard in range(3)] == first_slots(3)
        assert cluster.problems == []

    with_formed(version, tmp_path, talk=talk)


def test_a_replica_takes_over_from_a_primary_that_was_killed_and_which_then_follows_it(
    version: str, tmp_path: Path
) -> None:
    async def talk(cluster: AgentCluster) -> None:
        await cluster.agents["c-1-0"].kill()
        await cluster.start("c-1-0")
        await cluster.work_until("all is well again", is_well(cluster))
        found = look_at(await cluster.facts())
        assert found.primaries[1].name == "c-1-1"
        assert [each.kind for each in cluster.record.attempts] == [FailoverKind.FORCE]

    with_formed(version, tmp_path, talk=talk)


def test_one_that_comes_back_with_old_data_and_no_nodes_conf_takes_nothing_from_its_successor(
    version: str, tmp_path: Path
) -> None:
    async def talk(cluster: AgentCluster) -> None:
        await fill(cluster)
        former = cluster.agents["c-0-0"]
        await former.kill()
        (former.made.folder / "data" / "nodes.conf").unlink()
        await cluster.work_until("another owns its slots", lambda facts: look_at(facts).primaries[0].name == "c-0-1")
        await fill(cluster, "new")
        await cluster.start("c-0-0")
        await cluster.work_until("all is well again", is_well(cluster))
        found = {await cluster.say(owner, "GET", f"key:{number}") for number, owner in (await owners(cluster)).items()}
        assert found == {f"new{number}" for number in range(KEYS)}

    with_formed(version, tmp_path, talk=talk, appendonly="yes")


def test_slots_and_keys_move_to_a_new_shard_and_back_and_it_may_go(version: str, tmp_path: Path) -> None:
    async def talk(cluster: AgentCluster) -> None:
        await fill(cluster)
        cluster.shards = 4
        await cluster.start("c-3-0", "c-3-1")
        await cluster.work_until("four shards share the slots", is_well(cluster))
        assert int(await cluster.say("c-3-0", "DBSIZE")) > 0

        cluster.shards = 3
        await cluster.work_until("the fourth is empty", is_well(cluster))
        found = look_at(await cluster.facts())
        assert set(removable(found)) == {"c-3-0", "c-3-1"}
        counts = [int(await cluster.say(each.name, "DBSIZE")) for each in found.owners()]
        assert sum(counts) == KEYS

    with_formed(version, tmp_path, "c-3-0", "c-3-1", talk=talk)
