"""Slots that move between real servers by orders: key by key, and all at once."""

import signal
import time
from pathlib import Path

import pytest

from tests.valkey.cluster_agents import ClusterAgent, form, with_cluster_agents
from valkey_operator.core.node_view import ClusterNodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.cluster_nodes import MigrationState, OpenSlot
from valkey_operator.valkey.slots import slot_range

# Of slot 0.
TAG = b"{06S}"
KEYS = [TAG + bytes([255, number % 256, 0, 10]) + str(number).encode() for number in range(3000)]


def write(agent: ClusterAgent, keys: list[bytes], value: bytes = b"value") -> None:
    with agent.made.agent_client() as client, client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.execute_command("SET", key, value)
        pipe.execute()


def give(agents: list[ClusterAgent], slots: str, target_id: str, **fields: int) -> dict[str, object]:
    target = pb.Address(host="127.0.0.1", port=agents[1].made.port)
    return {"slots": slots, "target_id": target_id, "target": target, **fields}


@pytest.mark.every_version
def test_slots_with_keys_of_any_bytes_move_key_by_key_in_bounded_portions(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS)
        await target.order_twice("TakeSlots", slots="0-9", source_id=ids[0])
        first = await source.order("GiveSlots", **give(agents, "0-9", ids[1], within_ms=1))
        assert 0 < first.report.cluster.keys_in_slots[0] < len(KEYS)
        given = (await source.seen()).myself.open_slots
        assert given == tuple(OpenSlot(slot=slot, importing=False, peer=ids[1]) for slot in range(10))
        last = await source.order_twice("GiveSlots", **give(agents, "0-9", ids[1], within_ms=10_000))
        assert dict(last.report.cluster.keys_in_slots) == dict.fromkeys(range(10), 0)
        taken = await target.order_twice("SettleSlots", slots="0-9", owner_id=ids[1])
        assert taken.report.cluster.keys == len(KEYS)
        await source.order_twice("SettleSlots", slots="0-9", owner_id=ids[1])
        for agent in agents:
            seen = await agent.seen()
            line = seen.line(ids[1])
            assert line
            assert slot_range(0, 9) - line.slots == slot_range(1, 0)
            assert seen.myself.open_slots == ()
        with target.made.agent_client() as client:
            assert client.execute_command("GET", KEYS[7]) == "value"

    with_cluster_agents(version, tmp_path, 2, talk, password="secret word")


@pytest.mark.every_version
def test_a_key_that_is_on_both_sides_is_the_one_of_the_source(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS[:2], b"newer")
        await target.order("TakeSlots", slots="0", source_id=ids[0])
        with target.made.agent_client() as client, client.pipeline(transaction=False) as pipe:
            pipe.execute_command("ASKING")
            pipe.execute_command("SET", KEYS[0], "left over")
            pipe.execute()
        await source.order("GiveSlots", **give(agents, "0", ids[1]))
        await target.order("SettleSlots", slots="0", owner_id=ids[1])
        with target.made.agent_client() as client:
            assert client.execute_command("GET", KEYS[0]) == "newer"

    with_cluster_agents(version, tmp_path, 2, talk)


@pytest.mark.every_version
def test_a_slot_is_neither_stolen_nor_left_by_the_wrong_words(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS[:1])
        stolen = await target.try_order("SettleSlots", slots="0", owner_id=ids[1])
        assert (stolen.outcome, "slots 0" in stolen.detail) == (pb.OUTCOME_OTHER_STATE, True)
        left = await source.try_order("SettleSlots", slots="0", owner_id=ids[1])
        assert (left.outcome, "still hold keys" in left.detail) == (pb.OUTCOME_SERVER_REFUSED, True)
        unready = await source.try_order("GiveSlots", **give(agents, "0", ids[1]))
        assert (unready.outcome, "MOVED" in unready.detail) == (pb.OUTCOME_SERVER_REFUSED, True)
        await source.order_twice("SettleSlots", slots="0")
        assert (await source.seen()).myself.open_slots == ()
        assert 0 in (await source.seen()).myself.slots

    with_cluster_agents(version, tmp_path, 2, talk)


@pytest.mark.every_version
def test_a_silent_target_holds_its_source_for_less_than_the_node_timeout(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS[:1])
        await target.order("TakeSlots", slots="0", source_id=ids[0])
        target.made.processes[-1].send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        result = await source.try_order("GiveSlots", **give(agents, "0", ids[1]))
        assert (result.outcome, "IOERR" in result.detail) == (pb.OUTCOME_SERVER_REFUSED, True), result
        assert time.monotonic() - begun < 2
        assert result.report.cluster.keys_in_slots[0] == 1

    with_cluster_agents(version, tmp_path, 2, talk)


@pytest.mark.every_version
def test_a_replica_that_hangs_refuses_a_change_of_slots_once_and_not_for_each(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        target, source, replica = agents
        ids = await form(agents, primaries=2)
        replica.made.processes[-1].send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        result = await target.try_order("TakeSlots", slots="9000-9063", source_id=ids[1])
        assert (result.outcome, "NOREPLICAS" in result.detail) == (pb.OUTCOME_SERVER_REFUSED, True), result
        assert time.monotonic() - begun < 2
        assert (await source.seen()).myself.open_slots == (await target.seen()).myself.open_slots == ()

    with_cluster_agents(version, tmp_path, 3, talk)


@pytest.mark.every_version
def test_no_slot_stays_open_at_a_replica_of_either_side(version: str, tmp_path: Path) -> None:
    """A source that has heard of the new owner by gossip is told all the same, for its replica has not."""

    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents[:2]
        ids = await form(agents, primaries=2)
        await target.order("TakeSlots", slots="0-99", source_id=ids[0])
        await source.order("GiveSlots", **give(agents, "0-99", ids[1]))
        await target.order("SettleSlots", slots="0-99", owner_id=ids[1])
        await source.wait_until("it hears of the new owner", lambda view: 0 not in view.seen.myself.slots)
        await source.order("SettleSlots", slots="0-99", owner_id=ids[1])
        for agent in agents:
            await agent.wait_until("no slot is open", lambda view: not view.seen.myself.open_slots)

    with_cluster_agents(version, tmp_path, 4, talk)


def test_slots_move_all_at_once_and_the_report_tells_of_the_end(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS)

        def has_ended(view: ClusterNodeView) -> bool:
            return bool(view.migrations) and view.migrations[0].state is MigrationState.SUCCESS

        await source.order_twice("MigrateSlots", slots="0-9 20", target_id=ids[1])
        ended = await source.wait_until("it ends", has_ended)
        assert [(each.source, each.target, str(each.slots)) for each in ended.migrations] == [(*ids, "0-9 20")]
        await target.wait_until("the target has the keys", lambda view: has_ended(view) and view.keys == len(KEYS))
        await source.order("MigrateSlots", slots="0-9 20", target_id=ids[1])

    with_cluster_agents(version, tmp_path, 2, talk)


def test_a_move_all_at_once_is_cancelled(version: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        source, target = agents
        ids = await form(agents, primaries=2)
        write(source, KEYS)
        target.made.processes[-1].send_signal(signal.SIGSTOP)
        begun = await source.order("MigrateSlots", slots="0", target_id=ids[1])
        assert begun.report.cluster.migrations[0].state == pb.MIGRATION_STATE_UNDER_WAY
        ended = await source.order_twice("CancelMigrations")
        assert ended.report.cluster.migrations[0].state == pb.MIGRATION_STATE_CANCELLED
        assert 0 in (await source.seen()).myself.slots

    with_cluster_agents(version, tmp_path, 2, talk)


@pytest.mark.parametrize("older", ["8.0", "8.1"])
def test_a_server_that_moves_nothing_all_at_once_says_so(older: str, tmp_path: Path) -> None:
    async def talk(agents: list[ClusterAgent]) -> None:
        (agent,) = agents
        refused = await agent.try_order("MigrateSlots", slots="0", target_id="f" * 40)
        assert (refused.outcome, "unknown subcommand" in refused.detail) == (pb.OUTCOME_SERVER_REFUSED, True)

    with_cluster_agents(older, tmp_path, 1, talk)
