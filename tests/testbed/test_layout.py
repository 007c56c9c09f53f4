from itertools import combinations

import pytest

from testbed.errors import TestbedError
from testbed.layout import MAX_NODES, MAX_SLOTS, Layout
from testbed.record import check_name


def test_testbeds_in_different_slots_share_no_address() -> None:
    for one, other in combinations([Layout("t", slot) for slot in range(MAX_SLOTS)], 2):
        assert not any(mine.overlaps(theirs) for mine in one.ranges for theirs in other.ranges)
        assert one.bridge != other.bridge
        assert one.etcd_ip != other.etcd_ip


def test_nodes_of_one_testbed_share_no_address_and_no_link() -> None:
    nodes = Layout("t", 3).nodes(MAX_NODES)

    assert len({node.ip for node in nodes}) == MAX_NODES
    assert len({node.pod_range for node in nodes}) == MAX_NODES
    assert len({node.link for node in nodes}) == MAX_NODES


def test_three_nodes_are_in_three_zones() -> None:
    assert len({node.zone for node in Layout("t", 0).nodes(3)}) == 3


def test_no_link_name_is_longer_than_the_kernel_takes() -> None:
    layout = Layout("t", MAX_SLOTS - 1)
    names = [layout.bridge, *(node.link for node in layout.nodes(MAX_NODES))]

    assert max(map(len, names)) <= 15


def test_no_links_name_starts_like_one_of_another_testbed() -> None:
    # Links are removed by the testbed's prefix: tb1n must not match what belongs to tb11.
    prefixes = [f"{Layout('t', slot).bridge}n" for slot in range(MAX_SLOTS)]

    assert not any(one.startswith(other) for one in prefixes for other in prefixes if one != other)


def test_a_socket_path_of_the_longest_name_fits_into_what_the_kernel_takes() -> None:
    node = Layout("a" * 20, MAX_SLOTS - 1).node(MAX_NODES - 1)

    assert len(str(node.containerd_socket) + ".ttrpc") < 108


@pytest.mark.parametrize("name", ["a", "valkey", "second-1", "a" * 20])
def test_a_usable_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "1a", "a/b", "..", "-a", "a-", "a" * 21])
def test_an_unusable_name_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(TestbedError, match="lower-case letters"):
        check_name(name)
