import pytest

from valkey_operator.agent.cluster_server import check_id, check_slots, range_words
from valkey_operator.agent.orders import Refusal, check_bus_address
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import BusAddress
from valkey_operator.valkey.slots import slot_range


@pytest.mark.parametrize("slots", ["", "1-", "16384", "5-1", "all"])
def test_an_order_that_names_no_slots_is_refused(slots: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_slots(slots)
    assert caught.value.outcome == pb.OUTCOME_BAD_ORDER


def test_slots_are_given_to_commands_as_the_ends_of_their_runs() -> None:
    slots = check_slots("0-9 20")
    assert slots == slot_range(0, 9) | slot_range(20, 20)
    assert range_words(slots) == [0, 9, 20, 20]


@pytest.mark.parametrize("node_id", ["", "f" * 39, "F" * 40, "f" * 40 + "\n", "myself"])
def test_what_is_no_id_of_a_node_is_refused(node_id: str) -> None:
    with pytest.raises(Refusal):
        check_id(node_id)


@pytest.mark.parametrize(("host", "port", "bus_port"), [("", 1, 0), ("h", 0, 0), ("h", 60000, 0), ("h", 1, 65536)])
def test_what_is_no_address_of_a_cluster_node_is_refused(host: str, port: int, bus_port: int) -> None:
    with pytest.raises(Refusal):
        check_bus_address(pb.BusAddress(host=host, port=port, bus_port=bus_port))


def test_the_usual_port_of_the_bus_is_ten_thousand_above() -> None:
    assert check_bus_address(pb.BusAddress(host="h", port=6379)) == BusAddress("h", 6379, 16379)
