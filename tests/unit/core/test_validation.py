"""Each problem names the field, its value, and what would be right."""

import re
from typing import Any

import msgspec
import pytest

from valkey_operator.api.node import ValkeyNodeSpec
from valkey_operator.api.operator_defaults import DefaultsSpec
from valkey_operator.api.persistence import Volume
from valkey_operator.api.sentinel import SentinelSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core.defaults import effective_sentinel, effective_valkey
from valkey_operator.core.validation import (
    check_change,
    check_sentinel,
    check_supported,
    check_valkey,
    warnings_of,
)
from valkey_operator.valkey.info import Version


def problems_of(name: str = "cache", maps: dict[str, dict[str, str]] | None = None, **spec: Any) -> list[str]:
    effective = effective_valkey(msgspec.convert(spec, ValkeySpec))
    return [each.sentence() for each in check_valkey(name, effective, Version(9, 1, 0), maps)]


def test_a_spec_in_which_nothing_is_given_has_no_problem() -> None:
    assert problems_of() == []


TABLE: list[tuple[str, dict[str, Any], str]] = [
    ("a name too long", {"name": "x" * 50}, "metadata.name is .*50 characters.*at most 49"),
    ("a sentinel without replicas", {"sentinel": {"name": "s"}}, "spec.replicas is 1: .*0 .suspended. or at least 2"),
    (
        "TLSv1.2 below the oldest version",
        {"tls": {"minVersion": "TLS13", "protocols": ["TLSv1.2", "TLSv1.3"]}},
        "spec.tls.protocols is TLSv1.2, TLSv1.3: minVersion TLS13 forbids TLSv1.2",
    ),
    (
        "plain and encrypted on one port",
        {"tls": {"enabled": True, "disablePlaintext": False}},
        "spec.tls.port is 6379: .*choose another",
    ),
    (
        "an exporter on the server's port",
        {"exporter": {"enabled": True, "port": 6379}},
        "spec.exporter.port is 6379: .*choose another",
    ),
    (
        "a fence too close to detection",
        {"failover": {"detectAfterMilliseconds": 2500}},
        "spec.failover.detectAfterMilliseconds is 2500: set it to at least 3000",
    ),
    (
        "more replicas wanted than there are",
        {"replicas": 2, "replication": {"minReplicasToWrite": 2}},
        "spec.replication.minReplicasToWrite is 2: .*set replicas to 3",
    ),
    ("quorum with one pod", {"durability": "Quorum"}, "minReplicasToWrite is 1: .*set replicas to 2"),
    (
        "an owned directive",
        {"config": {"Bind": "x"}},
        "spec.config.Bind is owned by the operator: remove it, and use service",
    ),
    (
        "a misspelled directive",
        {"config": {"maxmemroy": 1}},
        "spec.config.maxmemroy is 1: Valkey has no such directive",
    ),
    ("a line break", {"config": {"maxmemory": "1\nport 2"}}, r"spec.config.maxmemory is '1\\nport 2': .*line break"),
    ("a line break in a list", {"config": {"save": ["1 1", "2 2\r"]}}, "spec.config.save is .*line break"),
]


@pytest.mark.parametrize(("spec", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_contradiction_is_named_with_its_remedy(spec: dict[str, Any], expected: str) -> None:
    [found] = problems_of(**spec)
    assert re.search(expected, found), found


def test_a_password_in_the_wrong_place_is_not_repeated() -> None:
    [found] = problems_of(config={"requirepass": "hunter2"})
    assert "hunter2" not in found
    assert "auth.password" in found


def test_directives_from_a_config_map_are_checked_alike() -> None:
    found = problems_of(configFrom=[{"name": "shared"}], maps={"shared": {"dir": "/elsewhere", "maxmemory": "1gb"}})
    assert found == ["spec.configFrom[shared].dir is owned by the operator: remove it, and use persistence"]


def test_contradictions_that_defaults_bring_in_are_found() -> None:
    defaults = msgspec.convert({"failover": {"fenceAfterMilliseconds": 5000}}, DefaultsSpec)
    [found] = check_valkey("cache", effective_valkey(ValkeySpec(), [defaults]))
    assert found.remedy.startswith("set it to at least 6000")


def test_a_sentinels_quorum_is_at_most_its_replicas() -> None:
    [found] = check_sentinel("s", effective_sentinel(SentinelSpec(replicas=3, quorum=4)))
    assert found.sentence() == "spec.quorum is 4: set it to a number from 1 to 3, the replicas"


def test_directives_of_a_sentinel_are_not_judged_by_those_of_a_server() -> None:
    spec = msgspec.convert({"config": {"some-sentinel-thing": 1}}, SentinelSpec)
    assert check_sentinel("s", effective_sentinel(spec)) == []


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"podManagementType": "deployment"}, "spec.podManagementType is deployment: .*set it back to statefulset"),
    ({"persistence": {"enabled": False}}, "spec.persistence.enabled is false: .*set it back to true"),
    ({"persistence": {"storageClassName": "fast"}}, "spec.persistence.storageClassName is fast: .*remove it again"),
    ({"persistence": {"size": "9Gi"}}, "spec.persistence.size is 9Gi: a volume only grows; give at least 10Gi"),
]


BUILT = ValkeyNodeSpec(
    pod_management_type="statefulset", persistence=Volume(enabled=True, size="10Gi", retention="Retain")
)


@pytest.mark.parametrize(("spec", "expected"), CHANGES)
def test_what_cannot_change_on_existing_nodes_is_held(spec: dict[str, Any], expected: str) -> None:
    after = effective_valkey(msgspec.convert(spec, ValkeySpec))
    [found] = check_change([BUILT, BUILT], after)
    assert re.search(expected, found.sentence()), found.sentence()


def test_a_volume_may_grow() -> None:
    after = effective_valkey(msgspec.convert({"persistence": {"size": "20Gi"}}, ValkeySpec))
    assert check_change([BUILT], after) == []


@pytest.mark.parametrize(
    ("persistence", "warned"),
    [
        ({"enabled": False, "aof": {"enabled": True}}, True),
        ({"enabled": False, "rdb": {"enabled": True}}, True),
        ({"enabled": False}, False),
        ({"aof": {"enabled": True}}, False),
    ],
)
def test_files_without_a_volume_to_keep_them_are_warned_of(persistence: dict[str, object], warned: bool) -> None:
    spec = effective_valkey(msgspec.convert({"persistence": persistence}, ValkeySpec))
    assert bool(warnings_of(spec)) == warned


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    ({"sentinel": {"name": "watch"}, "replicas": 2}, 'spec.sentinel is "watch": .*does not support Sentinel yet'),
    ({"tls": {"enabled": True}}, "spec.tls.enabled is true: .*does not support TLS yet"),
    ({"auth": {"acl": {"users": [{"name": "app"}]}}}, "spec.auth.acl is given: .*does not support ACL users yet"),
]


@pytest.mark.parametrize(("spec", "expected"), UNSUPPORTED)
def test_what_this_release_does_not_do_is_said(spec: dict[str, Any], expected: str) -> None:
    [found] = check_supported(effective_valkey(msgspec.convert(spec, ValkeySpec)))
    assert re.search(expected, found.sentence())


def test_empty_acl_and_tls_that_is_off_ask_for_nothing() -> None:
    spec = msgspec.convert({"auth": {"acl": {}}, "tls": {"enabled": False}}, ValkeySpec)
    assert list(check_supported(effective_valkey(spec))) == []
