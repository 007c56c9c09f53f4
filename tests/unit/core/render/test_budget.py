"""The budget of a shard: when there is one, and what it allows."""

from typing import Any

import pytest

from tests.support.render import LABELS, OWNER, effective
from valkey_operator.core.render.budget import disruption_budget


def budget(mode: str | None = None, *, replicas: int = 3, next_eviction: str | None = None) -> Any:
    spec = effective(**({"disruption": {"mode": mode}} if mode else {}))
    found = disruption_budget(OWNER, LABELS, spec, replicas=replicas, next_eviction=next_eviction)
    return found["spec"] if found else None


@pytest.mark.parametrize(("replicas", "least"), [(2, 1), (3, 2), (7, 6)])
def test_all_but_one_pod_of_the_shard_must_be_there(replicas: int, least: int) -> None:
    assert budget(replicas=replicas)["minAvailable"] == least


def test_it_selects_the_pods_of_one_shard_and_no_others() -> None:
    labels = {"valkey.io/kind": "Valkey", "valkey.io/cluster": "cache", "valkey.io/shard": "0"}
    assert budget()["selector"] == {"matchLabels": labels}


def test_a_pod_that_is_not_ready_may_always_go() -> None:
    assert {budget(mode)["unhealthyPodEvictionPolicy"] for mode in ("Budget", "Guarded")} == {"AlwaysAllow"}


@pytest.mark.parametrize(
    ("mode", "replicas"), [("Budget", 1), ("Budget", 0), ("Guarded", 0), ("None", 1), ("None", 3), ("None", 0)]
)
def test_there_is_none_where_it_would_only_stop_drains_or_nothing_is_to_be_kept(mode: str, replicas: int) -> None:
    assert budget(mode, replicas=replicas) is None


@pytest.mark.parametrize("replicas", [1, 3])
def test_guarded_pods_stay_all_of_them(replicas: int) -> None:
    found = budget("Guarded", replicas=replicas)
    assert (found["minAvailable"], "matchExpressions" in found["selector"]) == ("100%", False)


def test_a_guarded_pod_that_may_go_is_no_longer_selected_and_the_rest_is() -> None:
    assert budget("Guarded", next_eviction="cache-2")["selector"]["matchExpressions"] == [
        {"key": "valkey.io/node", "operator": "NotIn", "values": ["cache-2"]}
    ]


def test_a_plain_budget_does_not_care_which_pod_goes() -> None:
    assert budget(next_eviction="cache-2") == budget()
