"""The Services of a Valkey: which exist, and whom they lead to."""

from typing import Any

from tests.support.render import LABELS, OWNER, effective
from valkey_operator.core.names import ENDPOINTS_LABEL, ROLE_LABEL
from valkey_operator.core.render.services import services


def by_name(*, alone: bool = False, **spec: Any) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in services(OWNER, LABELS, effective(**spec), alone=alone)}


def test_without_a_wish_there_is_one_for_writes_and_one_for_all_nodes() -> None:
    assert by_name().keys() == {"cache", "cache-nodes"}


def test_others_exist_where_they_are_asked_for() -> None:
    found = by_name(readService={"enabled": True}, exporter={"enabled": True, "port": 9200})
    assert found.keys() == {"cache", "cache-nodes", "cache-read", "cache-metrics"}
    assert found["cache-metrics"]["spec"]["ports"][0]["port"] == 9200


def test_reads_go_to_replicas() -> None:
    assert by_name(readService={"enabled": True})["cache-read"]["spec"]["selector"][ROLE_LABEL] == "replica"


def test_writes_go_where_the_operator_says_and_the_selector_finds_nobody() -> None:
    assert by_name()["cache"]["spec"]["selector"][ENDPOINTS_LABEL] == "kept-by-operator"


def test_a_server_alone_is_found_without_its_role() -> None:
    assert by_name(alone=True)["cache"]["spec"]["selector"] == by_name()["cache-nodes"]["spec"]["selector"]


def test_all_nodes_are_found_before_they_are_ready() -> None:
    spec = by_name()["cache-nodes"]["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert ROLE_LABEL not in spec["selector"]


def test_annotations_are_the_users_and_ours() -> None:
    found = by_name(service={"type": "LoadBalancer", "annotations": {"a": "b", "valkey.io/cr": "other"}})["cache"]
    assert found["spec"]["type"] == "LoadBalancer"
    assert found["metadata"]["annotations"] == {"a": "b", "valkey.io/cr": "cache"}
