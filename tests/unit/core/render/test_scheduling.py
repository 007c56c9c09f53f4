"""Where pods may run: zones, strategies, and what a user's own rules leave of ours."""

from typing import Any

import pytest

from tests.support.render import LABELS, effective
from valkey_operator.core.names import pods_of
from valkey_operator.core.render.scheduling import scheduling

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
ZONE = "topology.kubernetes.io/zone"
ARCH = {"key": "arch", "operator": "In", "values": ["amd64"]}
DISK = {"key": "disk", "operator": "In", "values": ["ssd"]}


def placed(index: int = 0, zones: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    merged = effective(**spec, azDistribution=zones or {})
    return scheduling(merged, merged.az_distribution, LABELS, index)


def in_zone(zone: str, label: str = ZONE) -> dict[str, Any]:
    return {"key": label, "operator": "In", "values": [zone]}


def required_of(found: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The expressions of each term, of which one must hold."""
    terms = found["affinity"].get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", [])
    return [term["matchExpressions"] for term in terms]


def test_where_nothing_is_asked_for_pods_of_a_shard_prefer_other_hosts_and_then_other_zones() -> None:
    [host, zone] = placed()["affinity"]["podAntiAffinity"][PREFERRED]
    assert (host["podAffinityTerm"]["topologyKey"], host["weight"]) == ("kubernetes.io/hostname", 100)
    assert (zone["podAffinityTerm"]["topologyKey"], zone["weight"]) == (ZONE, 50)
    for term in (host, zone):
        assert term["podAffinityTerm"]["labelSelector"] == {"matchLabels": pods_of(LABELS)}


def test_where_nothing_is_asked_for_nothing_is_required() -> None:
    assert placed().keys() == {"affinity"}
    assert placed()["affinity"].keys() == {"podAntiAffinity"}


def test_zones_are_told_by_the_label_that_the_user_names() -> None:
    found = placed(zones={"nodeLabel": "rack", "primaryZone": "a", "replicaStrategy": "spread"})
    assert required_of(found) == [[in_zone("a", "rack")]]
    assert [each["topologyKey"] for each in found["topologySpreadConstraints"]] == ["rack"]
    terms = found["affinity"]["podAntiAffinity"][PREFERRED]
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == ["kubernetes.io/hostname", "rack"]


STRATEGIES = ("anti-affinity", "spread")


@pytest.mark.parametrize("strategy", STRATEGIES)
class TestZones:
    """Node 0 is the primary's, the others are replicas'."""

    def test_node_0_must_be_in_the_zone_of_the_primary(self, strategy: str) -> None:
        zones = {"primaryZone": "a", "replicaZones": ["b"], "replicaStrategy": strategy}
        assert required_of(placed(0, zones)) == [[in_zone("a")]]

    def test_without_a_zone_of_the_primary_node_0_may_be_anywhere(self, strategy: str) -> None:
        assert required_of(placed(0, {"replicaZones": ["b"], "replicaStrategy": strategy})) == []

    @pytest.mark.parametrize(("index", "zone"), [(1, "b"), (2, "c"), (3, "b"), (4, "c")])
    def test_replicas_take_turns_in_their_zones(self, strategy: str, index: int, zone: str) -> None:
        zones = {"primaryZone": "a", "replicaZones": ["b", "c"], "replicaStrategy": strategy}
        assert required_of(placed(index, zones)) == [[in_zone(zone)]]

    def test_replicas_without_zones_are_not_bound_to_any(self, strategy: str) -> None:
        assert required_of(placed(1, {"primaryZone": "a", "replicaStrategy": strategy})) == []


def test_replicas_without_zones_prefer_another_than_the_primarys() -> None:
    [preferred] = placed(1, {"primaryZone": "a"})["affinity"]["nodeAffinity"][PREFERRED]
    assert preferred["preference"]["matchExpressions"] == [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]


def test_with_spread_pods_are_dealt_out_evenly_and_the_primarys_zone_is_left_to_it_first() -> None:
    found = placed(1, {"primaryZone": "a", "replicaStrategy": "spread"})
    [preferred] = found["affinity"]["nodeAffinity"][PREFERRED]
    assert preferred["preference"]["matchExpressions"] == [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]
    [constraint] = found["topologySpreadConstraints"]
    assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
    assert constraint["labelSelector"] == {"matchLabels": pods_of(LABELS)}


BESIDE = {"podAffinity": {REQUIRED: [{"topologyKey": "rack", "labelSelector": {}}]}}


class TestAUsersAffinity:
    """It takes the place of ours, but a zone that was asked for holds as well."""

    def test_replaces_what_we_would_prefer(self) -> None:
        assert placed(affinity=BESIDE)["affinity"] == BESIDE

    def test_that_is_empty_says_nothing(self) -> None:
        assert placed(affinity={}) == placed()

    def test_stays_beside_a_zone(self) -> None:
        found = placed(zones={"primaryZone": "a"}, affinity=BESIDE)
        assert found["affinity"]["podAffinity"] == BESIDE["podAffinity"]
        assert required_of(found) == [[in_zone("a")]]

    def test_each_of_its_terms_gets_the_zone_since_one_of_them_suffices(self) -> None:
        terms = [{"matchExpressions": [ARCH]}, {"matchExpressions": [DISK]}]
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        assert required_of(placed(0, {"primaryZone": "a"}, affinity=affinity)) == [
            [ARCH, in_zone("a")],
            [DISK, in_zone("a")],
        ]

    def test_a_term_of_fields_alone_gets_the_zone_too(self) -> None:
        fields = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}}
        found = placed(0, {"primaryZone": "a"}, affinity=affinity)["affinity"]["nodeAffinity"][REQUIRED]
        assert found["nodeSelectorTerms"] == [{"matchFields": fields, "matchExpressions": [in_zone("a")]}]

    def test_preferences_add_up(self) -> None:
        own = {"weight": 1, "preference": {"matchExpressions": [ARCH]}}
        found = placed(1, {"primaryZone": "a"}, affinity={"nodeAffinity": {PREFERRED: [own]}})
        [first, second] = found["affinity"]["nodeAffinity"][PREFERRED]
        assert first == own
        assert second["preference"]["matchExpressions"][0]["operator"] == "NotIn"

    @pytest.mark.parametrize("index", [0, 1])
    def test_what_it_requires_and_what_the_zone_prefers_both_stay(self, index: int) -> None:
        affinity: dict[str, Any] = {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ARCH]}]},
                PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [DISK]}}],
            }
        }
        found = placed(index, {"primaryZone": "a"}, affinity=affinity)
        assert required_of(found)[0][0] == ARCH
        assert found["affinity"]["nodeAffinity"][PREFERRED][0] == affinity["nodeAffinity"][PREFERRED][0]

    def test_is_not_changed_itself(self) -> None:
        terms = [{"matchExpressions": [ARCH]}]
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        placed(0, {"primaryZone": "a"}, affinity=affinity)
        assert terms == [{"matchExpressions": [ARCH]}]


def test_a_users_spread_constraints_come_before_ours() -> None:
    own = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    found = placed(zones={"replicaStrategy": "spread"}, topologySpreadConstraints=[own])["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in found] == ["rack", ZONE]


def test_other_fields_are_handed_on_as_they_are() -> None:
    given: dict[str, Any] = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "high",
    }
    assert given.items() <= placed(**given).items()
