"""Laws of names."""

from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.core.names import node_index, node_name

owners = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(owners, st.integers(0, 10**6))
def test_the_index_of_a_node_is_found_by_its_name(owner: str, index: int) -> None:
    assert node_index(owner, node_name(owner, index)) == index


@given(owners, owners | st.text(max_size=30))
def test_a_name_with_an_index_is_exactly_that_nodes(owner: str, name: str) -> None:
    for candidate in (name, f"{owner}-{name}", f"{owner}{name}"):
        index = node_index(owner, candidate)
        assert index is None or node_name(owner, index) == candidate


@given(owners, owners, st.integers(0, 99), st.integers(0, 99))
def test_no_two_nodes_of_one_owner_share_a_name(owner: str, other: str, one: int, another: int) -> None:
    assert (node_name(owner, one) == node_name(owner, another)) == (one == another)
    if owner != other and node_name(owner, one) == node_name(other, another):
        raise AssertionError("nodes of different owners share a name")
