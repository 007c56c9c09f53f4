"""The examples, and the manifests in the documents, hold only fields that exist and specs that can be carried out.

That they run: tests/e2e/test_examples.py.
"""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.support.documents import CLUSTER_EXAMPLES, DOCUMENTS, EXAMPLES, REPOSITORY, VALKEY_EXAMPLES, manifests_in
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.operator_defaults import DefaultsSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core.cluster_validation import check_cluster
from valkey_operator.core.defaults import effective_cluster, effective_valkey
from valkey_operator.core.quantity import parse_quantity
from valkey_operator.core.validation import check_valkey

SPECS = {"Valkey": ValkeySpec, "ValkeyCluster": ValkeyClusterSpec, "ValkeyOperatorDefaults": DefaultsSpec}
SMALLEST_VOLUME = "256Mi"

Manifest = dict[str, Any]


def objects_of(file: Path) -> list[Manifest]:
    if file.suffix == ".yaml":
        return list(yaml.safe_load_all(file.read_text()))
    return manifests_in(file.read_text())


def of_kind(kind: str, files: list[Path]) -> list[Any]:
    found = [(file, each) for file in files for each in objects_of(file) if each["kind"] == kind]
    return [pytest.param(each, id=f"{file.relative_to(REPOSITORY)} {each['metadata']['name']}") for file, each in found]


FILES = [*EXAMPLES, *DOCUMENTS]


@pytest.mark.parametrize("manifest", [each for kind in SPECS for each in of_kind(kind, FILES)])
def test_every_field_is_one_that_the_kind_has(manifest: Manifest) -> None:
    spec = msgspec.convert(manifest["spec"], SPECS[manifest["kind"]])
    assert msgspec.to_builtins(spec) == manifest["spec"]
    assert manifest["apiVersion"] == "valkey.io/v1alpha1"


@pytest.mark.parametrize("manifest", of_kind("Valkey", FILES))
def test_a_valkey_can_be_carried_out(manifest: Manifest) -> None:
    spec = effective_valkey(msgspec.convert(manifest["spec"], ValkeySpec))
    assert check_valkey(manifest["metadata"]["name"], spec) == []


@pytest.mark.parametrize("manifest", of_kind("Valkey", EXAMPLES))
def test_an_example_is_small_enough_for_all_to_run_at_once(manifest: Manifest) -> None:
    layers = [
        msgspec.convert(each.values[0]["spec"], DefaultsSpec) for each in of_kind("ValkeyOperatorDefaults", FILES)
    ]
    spec = effective_valkey(msgspec.convert(manifest["spec"], ValkeySpec), layers[:1])
    assert spec.replicas <= 3
    assert parse_quantity(spec.persistence.size) == parse_quantity(SMALLEST_VOLUME)


@pytest.mark.parametrize("manifest", of_kind("ValkeyCluster", FILES))
def test_a_cluster_can_be_carried_out(manifest: Manifest) -> None:
    spec = effective_cluster(msgspec.convert(manifest["spec"], ValkeyClusterSpec))
    assert check_cluster(manifest["metadata"]["name"], spec) == []


@pytest.mark.parametrize("manifest", of_kind("ValkeyCluster", EXAMPLES))
def test_an_example_of_a_cluster_is_small(manifest: Manifest) -> None:
    spec = effective_cluster(msgspec.convert(manifest["spec"], ValkeyClusterSpec))
    assert (spec.shards, spec.replicas, str(spec.persistence.size)) == (3, 2, SMALLEST_VOLUME)


def names_in(files: list[Path], kind: str) -> list[list[str]]:
    return [[each["metadata"]["name"] for each in objects_of(file) if each["kind"] == kind] for file in files]


def test_the_demo_finds_every_example_of_a_valkey() -> None:
    """Its Makefile target takes `examples/valkey-*.yaml`; the object is called as its file."""
    names = names_in(VALKEY_EXAMPLES, "Valkey")
    assert [[file.stem.removeprefix("valkey-")] for file in VALKEY_EXAMPLES] == names
    names = names_in(CLUSTER_EXAMPLES, "ValkeyCluster")
    assert [[file.stem.removeprefix("valkeycluster-")] for file in CLUSTER_EXAMPLES] == names
    assert all("namespace" not in each["metadata"] for file in EXAMPLES for each in objects_of(file))


def test_the_first_valkey_that_the_chart_tells_of_has_all_that_is_required() -> None:
    notes = (REPOSITORY / "charts/valkey-operator/templates/NOTES.txt").read_text()
    [shown] = re.findall(r"<<'EOF'\n(.*?)^ +EOF$", notes, flags=re.MULTILINE | re.DOTALL)
    first = yaml.safe_load(shown)
    assert msgspec.convert(first["spec"], ValkeySpec) == ValkeySpec()
    assert first["kind"] == "Valkey"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_begins_with_what_it_is_for(file: Path) -> None:
    assert file.read_text().startswith("# ")
