"""What the operator applies, as a person has reviewed it; and what holds for all of it."""

from pathlib import Path
from typing import Any

import pytest
from lightkube.models.core_v1 import PodTemplateSpec

from tests.support.golden import assert_matches_golden
from tests.support.render import (
    EVERY_FIELD,
    LABELS,
    NODE,
    NODE_LABELS,
    OWNER,
    as_yaml,
    effective,
    node_manifest,
    node_spec,
)
from valkey_operator.core.render.access import role, role_binding, service_account
from valkey_operator.core.render.auth import auth_secret
from valkey_operator.core.render.budget import disruption_budget
from valkey_operator.core.render.services import services
from valkey_operator.core.render.workload import certificate, claim, node_service, settings, workload

FOLDER = Path(__file__).parent / "render"
SPECS: dict[str, dict[str, Any]] = {"minimal": {}, "every-field": EVERY_FIELD}


def matches(name: str, *manifests: dict[str, Any]) -> None:
    assert_matches_golden(FOLDER / f"{name}.yaml", as_yaml(*manifests))


@pytest.mark.parametrize("name", SPECS)
def test_a_node_is_as_reviewed(name: str) -> None:
    matches(f"node-{name}", node_manifest(**SPECS[name]))


def test_a_node_on_its_turn_is_as_reviewed() -> None:
    plain, on_its_turn = node_manifest(), node_manifest(is_its_turn=True)
    turn = on_its_turn["metadata"]["annotations"].pop("valkey.io/turn")
    assert on_its_turn == plain
    assert turn == plain["spec"]["podTemplate"]["metadata"]["annotations"]["valkey.io/roll-hash"]


@pytest.mark.parametrize("name", SPECS)
def test_what_a_node_becomes_is_as_reviewed(name: str) -> None:
    """The pod's template is that of the node, and left out."""
    spec = node_spec(**SPECS[name])
    runs = workload(NODE, NODE_LABELS, spec, cr=OWNER.name, may_replace=False)
    assert runs["spec"].pop("template") == spec.pod_template
    matches(
        f"objects-of-a-node-{name}",
        runs,
        node_service(NODE, NODE_LABELS, spec, cr=OWNER.name),
        claim(NODE, NODE_LABELS, spec, cr=OWNER.name, heir=None),
        settings(NODE, NODE_LABELS, spec, cr=OWNER.name, address="10.96.0.7"),
    )


def test_a_claim_that_goes_with_somebody_belongs_to_it() -> None:
    kept = claim(NODE, NODE_LABELS, node_spec(), cr=OWNER.name, heir=None)
    going = claim(NODE, NODE_LABELS, node_spec(), cr=OWNER.name, heir=OWNER)
    assert going["metadata"].pop("ownerReferences") == [OWNER.reference()]
    assert going == kept


@pytest.mark.parametrize("name", SPECS)
def test_the_services_of_a_valkey_are_as_reviewed(name: str) -> None:
    matches(f"services-{name}", *services(OWNER, LABELS, effective(**SPECS[name]), alone=name == "minimal"))


def test_the_budgets_of_a_valkey_are_as_reviewed() -> None:
    made = [
        disruption_budget(OWNER, LABELS, effective(disruption={"mode": mode}), replicas=3, next_eviction="cache-2")
        for mode in ("Budget", "Guarded")
    ]
    matches("budgets", *(each for each in made if each))


def test_rights_and_secrets_are_as_reviewed() -> None:
    files = {"tls.crt": b"certificate", "tls.key": b"key", "ca.crt": b"authority"}
    matches(
        "access",
        service_account(OWNER, LABELS),
        role(OWNER, LABELS),
        role_binding(OWNER, LABELS),
        auth_secret(OWNER, LABELS, "secret"),
        certificate(NODE, NODE_LABELS, files, cr=OWNER.name, renew_at="2026-12-01T00:00:00Z"),
    )


@pytest.mark.parametrize("name", SPECS)
def test_every_field_of_a_pod_is_one_that_kubernetes_knows(name: str) -> None:
    template = node_manifest(**SPECS[name])["spec"]["podTemplate"]
    assert PodTemplateSpec.from_dict(template).to_dict() == template


@pytest.mark.parametrize("name", SPECS)
def test_the_same_spec_gives_the_same_manifest_byte_for_byte(name: str) -> None:
    assert as_yaml(node_manifest(**SPECS[name])) == as_yaml(node_manifest(**SPECS[name]))


def test_no_file_is_left_over() -> None:
    names = {
        "access",
        "budgets",
        *(f"{kind}-{name}" for kind in ("node", "objects-of-a-node", "services") for name in SPECS),
    }
    assert {file.stem for file in FOLDER.iterdir()} == names
