"""The custom resources on a real API server: what is accepted, what it warns of, what a person reads."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.layout import REPOSITORY
from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.custom_resources import APPLY, install, manifest, try_out
from valkey_operator.api.crd import KINDS

SAMPLES = Path(__file__).parent / "manifests-000"
FRAGMENTS = sorted(SAMPLES.glob("fragment-*.yaml"))
WHOLE = sorted(set(SAMPLES.glob("*.yaml")) - set(FRAGMENTS) - {SAMPLES / "valkey.yaml"})


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Cluster) -> None:
    install(cluster)


@pytest.mark.parametrize("folder", ["crd", "admission"])
def test_everything_is_installed_without_a_warning(cluster: Cluster, folder: str) -> None:
    done = cluster.try_kubectl("apply", *APPLY, f"--filename={REPOSITORY}/config/{folder}")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_api_server_finds_no_fault_in_types_and_structure(cluster: Cluster) -> None:
    for kind in KINDS:
        conditions = cluster.get("crd", f"{kind.plural}.valkey.io")["status"]["conditions"]
        assert not [each for each in conditions if each["type"] == "NonStructuralSchema" and each["status"] == "True"]
    for policy in cluster.get("validatingadmissionpolicies")["items"]:
        if policy["metadata"]["name"].startswith("valkey-operator"):
            assert not policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings")


@pytest.mark.parametrize("file", WHOLE, ids=lambda file: file.stem)
def test_a_manifest_of_the_proposal_applies_as_it_stands(cluster: Cluster, file: Path) -> None:
    done = cluster.try_kubectl("apply", "--dry-run=server", f"--filename={file}")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_proposals_valkey_has_a_sentinel_and_one_replica_so_the_rule_refuses_it_until_it_has_two(
    cluster: Cluster,
) -> None:
    sample = yaml.safe_load((SAMPLES / "valkey.yaml").read_text())
    accepted, said = try_out(cluster, sample)
    assert not accepted
    assert "replicas is 1 with a sentinel" in said
    sample["spec"]["replicas"] = 2
    assert try_out(cluster, sample) == (True, "valkey.valkey.io/myvalkey created (server dry run)\n")


@pytest.mark.parametrize("kind", ["Valkey", "ValkeyCluster", "ValkeyPool"])
@pytest.mark.parametrize("file", FRAGMENTS, ids=lambda file: file.stem)
def test_a_fragment_of_the_proposal_fits_every_kind_with_data(cluster: Cluster, file: Path, kind: str) -> None:
    spec = yaml.safe_load(file.read_text())["spec"]
    accepted, said = try_out(cluster, manifest(kind, {"template": spec} if kind == "ValkeyPool" else spec))
    assert accepted, said


def test_an_empty_spec_is_enough_for_every_kind_a_user_creates(cluster: Cluster) -> None:
    kinds = ["Valkey", "ValkeyPool", "ValkeyCluster", "Sentinel"]
    accepted, said = try_out(cluster, *(manifest(kind) for kind in kinds))
    assert accepted, said


WARNED: list[tuple[str, Manifest, str]] = [
    (
        "an even number of sentinels",
        manifest("Sentinel", {"replicas": 4}),
        "spec.replicas is 4, an even number.*3 or 5",
    ),
    (
        "snapshots without a volume",
        manifest("Valkey", {"persistence": {"enabled": False, "rdb": {"enabled": True}}}),
        "spec.persistence.enabled is false, yet rdb.enabled is true.*set persistence.enabled to true",
    ),
    (
        "a log without a volume",
        manifest("ValkeyPool", {"template": {"persistence": {"enabled": False, "aof": {"enabled": True}}}}),
        "spec.template.persistence.enabled is false, yet aof.enabled is true",
    ),
]


@pytest.mark.parametrize(("odd", "said"), [row[1:] for row in WARNED], ids=[row[0] for row in WARNED])
def test_what_is_seldom_meant_is_taken_with_a_warning(cluster: Cluster, odd: Manifest, said: str) -> None:
    accepted, answer = try_out(cluster, odd)
    assert accepted, answer
    assert re.search(f"Warning: .*{said}", answer), answer


def test_a_cache_without_volume_and_an_odd_number_of_sentinels_are_no_reason_to_warn(cluster: Cluster) -> None:
    cache = manifest("Valkey", {"persistence": {"enabled": False}})
    assert "Warning" not in try_out(cluster, cache, manifest("Sentinel", {"replicas": 5}))[1]


def test_directives_of_every_sort_are_kept_as_they_were_given(cluster: Cluster, namespace: str) -> None:
    config = {"maxmemory": "1gb", "timeout": 300, "appendonly": True, "x.ratio": 0.5, "save": ["900 1", "300 10"]}
    cluster.apply(manifest("Valkey", {"replicas": 0, "config": config}), namespace=namespace)
    assert cluster.get("valkey", "example", namespace=namespace)["spec"]["config"] == config


def test_the_largest_config_stays_within_the_budget_of_the_policy(cluster: Cluster) -> None:
    config = {f"some-directive-of-a-module-{number}": "value" for number in range(256)}
    accepted, said = try_out(cluster, manifest("Valkey", {"config": config}))
    assert accepted, said


def test_explain_tells_what_a_field_does_and_what_it_is_without_one(cluster: Cluster) -> None:
    text = " ".join(cluster.kubectl("explain", "valkey.spec.persistence").split())
    assert (
        "Size of each node's volume. It may grow, if the storage class allows it, and never shrink. Built in: 10Gi."
        in text
    )
    assert "enum: Retain, Delete" in text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_short_names_and_the_category_lead_to_the_kind(cluster: Cluster, kind: Any) -> None:
    for name in filter(None, (kind.plural, kind.model.__name__.lower(), kind.short_name)):
        cluster.kubectl("get", name)
    listed = cluster.kubectl("api-resources", "--categories=valkey-all", "--output=name").split()
    assert f"{kind.plural}.valkey.io" in listed


def test_get_shows_state_counts_primary_and_version_and_wide_the_reason(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("Valkey", {"replicas": 0}), namespace=namespace)
    place = f"--namespace={namespace}"
    narrow, wide = (cluster.kubectl("get", "vk", place, f"--output={form}") for form in ("", "wide"))
    assert narrow.splitlines()[0].split() == ["NAME", "STATE", "READY", "TOTAL", "PRIMARY", "VERSION", "AGE"]
    assert wide.splitlines()[0].split() == [*narrow.splitlines()[0].split(), "REASON"]


def test_a_valkey_is_scaled_like_a_deployment(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("Valkey", {"replicas": 0}), namespace=namespace)
    cluster.kubectl("scale", "valkey", "example", "--replicas=1", f"--namespace={namespace}")
    assert cluster.get("valkey", "example", namespace=namespace)["spec"]["replicas"] == 1
