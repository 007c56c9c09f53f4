"""Copies that start without an operator, and what is made of the times that runs took."""

from collections.abc import Iterator
from typing import Any

from bench.cluster_start import without_cluster_mode
from bench.starts import Bare, bare_copy, compare
from bench.valkey_start import naked_pod


def stateful_set(node: str, *, shard: int = 0) -> dict[str, Any]:
    labels = {"valkey.io/kind": "ValkeyCluster", "valkey.io/cluster": "cart", "valkey.io/shard": str(shard)}
    agent = {"name": "agent", "env": [{"name": "VALKEY_AGENT_NODE", "value": node}]}
    template = {"metadata": {"labels": labels}, "spec": {"initContainers": [agent], "containers": []}}
    return {"kind": "StatefulSet", "metadata": {"name": node}, "spec": {"template": template}}


def role() -> dict[str, Any]:
    rule = {"resources": ["valkeyshards"], "resourceNames": ["cart"], "verbs": ["get"]}
    return {"kind": "Role", "metadata": {"name": "cart-agent"}, "rules": [rule]}


def of_two_shards() -> Bare:
    record = {"kind": "ValkeyShard", "metadata": {"name": "cart"}, "spec": {"cluster": {"formed": True}}}
    nodes = [stateful_set(f"cart-{shard}-{index}", shard=shard) for shard in (0, 1) for index in (0, 1)]
    return Bare([role(), record], [{"kind": "Service", "metadata": {"name": "cart"}}, *nodes])


def test_a_bare_copy_has_nothing_that_only_the_server_or_the_operator_sets() -> None:
    meta = {"name": "cart-0", "namespace": "old", "uid": "1", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    found = {
        "kind": "Service",
        "metadata": meta,
        "spec": {"clusterIP": "10.0.0.1", "ports": []},
        "status": {"loadBalancer": {}},
    }
    assert bare_copy(found) == {"kind": "Service", "metadata": {"name": "cart-0"}, "spec": {"ports": []}}
    assert meta["uid"] == "1"


def test_a_headless_service_stays_headless() -> None:
    found = {"kind": "Service", "metadata": {"name": "cart-nodes"}, "spec": {"clusterIP": "None"}}
    assert bare_copy(found)["spec"] == {"clusterIP": "None"}


def test_a_naked_pod_is_called_as_that_of_its_stateful_set() -> None:
    assert naked_pod(stateful_set("cart-0-1"))["metadata"]["name"] == "cart-0-1-0"


def test_every_shard_of_a_bare_cluster_has_a_record_of_its_own_and_its_first_node_is_primary() -> None:
    before, _ = without_cluster_mode(of_two_shards())
    records = [each for each in before if each["kind"] == "ValkeyShard"]
    said = [(each["metadata"]["name"], each["spec"]["index"], each["spec"]["primary"]) for each in records]
    assert said == [("cart-0", 0, "cart-0-0"), ("cart-1", 1, "cart-1-0")]
    assert not [each for each in records if "cluster" in each["spec"]]


def test_the_agents_of_a_bare_cluster_know_their_record_and_may_read_it() -> None:
    copies = of_two_shards()
    before, timed = without_cluster_mode(copies)
    assert next(each for each in before if each["kind"] == "Role")["rules"][0]["resourceNames"] == ["cart-0", "cart-1"]
    told = {each["metadata"]["name"]: environment(each) for each in timed if each["kind"] == "StatefulSet"}
    assert {node: each["VALKEY_AGENT_SHARD"] for node, each in told.items()} == {
        "cart-0-0": "cart-0",
        "cart-0-1": "cart-0",
        "cart-1-0": "cart-1",
        "cart-1-1": "cart-1",
    }
    assert "VALKEY_AGENT_SHARD" not in environment(copies.timed[1])


def environment(stateful_set: dict[str, Any]) -> dict[str, str]:
    [agent] = stateful_set["spec"]["template"]["spec"]["initContainers"]
    return {each["name"]: each["value"] for each in agent["env"]}


def test_sorts_take_turns_after_a_first_run_that_does_not_count_and_the_ratio_is_that_of_medians() -> None:
    order: list[str] = []

    def runs(name: str, *seconds: float) -> Any:
        times: Iterator[float] = iter(seconds)

        def run() -> float:
            order.append(name)
            return next(times)

        return run

    sorts = {"cluster": runs("cluster", 99.0, 6.0, 3.0, 9.0), "stateful_sets": runs("bare", 4.0, 5.0, 1.0)}
    figures = compare(sorts, pods=6, runs=3)
    assert order == ["cluster", *["cluster", "bare"] * 3]
    assert figures["cluster_s"]["all"] == [6.0, 3.0, 9.0]
    assert figures["cluster_to_stateful_sets"] == 1.5
