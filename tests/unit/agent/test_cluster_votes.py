"""Whose votes would reach a cluster node."""

import pytest

from valkey_operator.agent.cluster_votes import missing_voters
from valkey_operator.valkey.cluster_nodes import parse_links, parse_nodes

ME, A, B, C, R = "e" * 40, "a" * 40, "b" * 40, "c" * 40, "d" * 40
SEEN = parse_nodes(
    f"{ME} 10.0.0.1:6379@16379,c-0-1 myself,slave {A} 0 0 1 connected\n"
    f"{A} 10.0.0.2:6379@16379,c-0-0 master - 0 0 1 connected 0-5461\n"
    f"{B} 10.0.0.3:6379@16379,c-1-0 master - 0 0 2 connected 5462-10922\n"
    f"{C} 10.0.0.4:6379@16379,c-2-0 master - 0 0 3 connected 10923-16383\n"
    f"{R} 10.0.0.5:6379@16379,c-1-1 slave {B} 0 0 2 connected\n"
)


@pytest.mark.parametrize(
    ("linked", "missing"),
    [
        ({A, B, C, R}, None),
        ({A, C}, None),
        ({A, R}, "c-1-0, c-2-0 cannot send their votes yet"),
        (set(), "c-0-0, c-1-0, c-2-0 cannot send their votes yet"),
    ],
    ids=["all", "most", "a replica does not vote", "nobody"],
)
def test_most_owners_of_slots_must_have_a_link(linked: set[str], missing: str | None) -> None:
    assert missing_voters(SEEN, frozenset(linked)) == missing


def test_only_links_of_others_to_a_node_carry_what_they_say() -> None:
    words: list[str | int] = ["create-time", 1, "events", "r", "send-buffer-allocated", 0, "send-buffer-used", 0]
    reply = [["direction", "to", "node", A, *words], ["direction", "from", "node", B, *words]]
    assert parse_links(reply) == {B}
