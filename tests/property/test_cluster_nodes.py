from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.valkey.cluster_nodes import ClusterError, parse_cluster_info, parse_nodes

MYSELF = f"{'a' * 40} 10.0.0.1:6379@16379,c-0-0 myself,master - 0 0 7 connected"


@pytest.mark.parametrize("read", [parse_nodes, parse_cluster_info])
@given(before=st.text(), behind=st.text())
def test_a_text_is_understood_or_refused_in_one_way(read: Callable[[str], object], before: str, behind: str) -> None:
    for text in (before, f"{MYSELF} {behind}", f"{before} {MYSELF}"):
        try:
            read(text)
        except ClusterError:
            continue
