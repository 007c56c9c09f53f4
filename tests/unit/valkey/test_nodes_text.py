import pytest

from valkey_operator.valkey.cluster_nodes import ClusterError, own_line, parse_nodes
from valkey_operator.valkey.nodes_text import stable_nodes

OTHER = f"{'b' * 40} 10.0.0.2:6379@16379,c-1 master - {{ping}} {{pong}} 2 connected 5462-10922"
OWN = f"{'a' * 40} 10.0.0.1:6379@16379,c-0 myself,master - 0 0 1 connected 0-5461 [7->-{'b' * 40}]"
VARIABLES = "vars currentEpoch 4 lastVoteEpoch 0"


def test_times_of_pings_the_order_of_lines_and_variables_do_not_change_the_text() -> None:
    before = "\n".join([OTHER.format(ping=0, pong=1794847782106), OWN, ""])
    after = "\n".join([OWN, OTHER.format(ping=1794847783000, pong=1794847782999), VARIABLES, ""])
    assert stable_nodes(before) == stable_nodes(after)
    assert parse_nodes(stable_nodes(before)) == parse_nodes(before)


@pytest.mark.parametrize(
    ("word", "other"), [("connected", "disconnected"), ("master", "master,fail?"), (" 2 ", " 3 "), ("10922", "10921")]
)
def test_what_a_node_says_of_another_changes_the_text(word: str, other: str) -> None:
    before = OTHER.format(ping=0, pong=0)
    assert stable_nodes(before) != stable_nodes(before.replace(word, other))


def test_a_node_is_found_by_its_own_line_alone() -> None:
    text = "\n".join(["not understood by anybody myself", OWN])
    assert own_line(text) == parse_nodes(OWN).myself
    with pytest.raises(ClusterError):
        own_line(OTHER)
