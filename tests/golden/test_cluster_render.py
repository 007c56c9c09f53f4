"""What the operator applies for a ValkeyCluster, as a person has reviewed it."""

from pathlib import Path
from typing import Any

import pytest
from lightkube.models.core_v1 import PodTemplateSpec

from tests.support.cluster_render import (
    EVERY_CLUSTER_FIELD,
    LABELS,
    NODE,
    NODE_LABELS,
    OWNER,
    effective,
    node_manifest,
    node_spec,
    source,
)
from tests.support.golden import assert_matches_golden
from tests.support.render import as_yaml
from valkey_operator.core.render.budget import disruption_budget
from valkey_operator.core.render.services import cluster_services
from valkey_operator.core.render.workload import node_service, settings

FOLDER = Path(__file__).parent / "cluster_render"
SPECS: dict[str, dict[str, Any]] = {"minimal": {}, "every-field": EVERY_CLUSTER_FIELD}
# A change of these restarts every pod of every user: it needs a decision, a note in CHANGELOG.md, and a reason.
PINNED_HASHES = {"minimal": "161955ad0b2ba020", "every-field": "5a703ebadb9719b3"}


def matches(name: str, *manifests: dict[str, Any]) -> None:
    assert_matches_golden(FOLDER / f"{name}.yaml", as_yaml(*manifests))


@pytest.mark.parametrize("name", SPECS)
def test_a_node_is_as_reviewed(name: str) -> None:
    matches(f"node-{name}", node_manifest(zone="b", **SPECS[name]))


@pytest.mark.parametrize("name", SPECS)
def test_what_a_node_becomes_beside_its_workload_is_as_reviewed(name: str) -> None:
    spec = node_spec(**SPECS[name])
    matches(
        f"objects-of-a-node-{name}",
        node_service(NODE, NODE_LABELS, spec, cr=OWNER.name),
        settings(NODE, NODE_LABELS, spec, cr=OWNER.name, address="10.96.0.7"),
    )


@pytest.mark.parametrize("name", SPECS)
def test_the_services_of_a_cluster_are_as_reviewed(name: str) -> None:
    matches(f"services-{name}", *cluster_services(OWNER, effective(**SPECS[name])))


def test_the_budget_of_a_shard_is_as_reviewed() -> None:
    budget = disruption_budget(OWNER, LABELS, effective(), replicas=3, next_eviction=None)
    matches("budget-of-a-shard", budget or {})


@pytest.mark.parametrize("name", SPECS)
def test_the_hash_that_replaces_pods_is_the_one_it_always_was(name: str) -> None:
    assert source(**SPECS[name]).roll_hash == PINNED_HASHES[name]


@pytest.mark.parametrize("name", SPECS)
def test_every_field_of_a_pod_is_one_that_kubernetes_knows(name: str) -> None:
    template = node_manifest(**SPECS[name])["spec"]["podTemplate"]
    assert PodTemplateSpec.from_dict(template).to_dict() == template


def test_no_file_is_left_over() -> None:
    kinds = ("node", "objects-of-a-node", "services")
    names = {"budget-of-a-shard", *(f"{kind}-{name}" for kind in kinds for name in SPECS)}
    assert {file.stem for file in FOLDER.iterdir()} == names
