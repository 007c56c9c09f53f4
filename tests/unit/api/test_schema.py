"""The schema that the API server gets: structural, readable, and without defaults."""

from collections.abc import Iterator
from typing import Any

import pytest

from tools.embedded import kubernetes_type
from valkey_operator.api.crd import KINDS, Kind, render_crd

Place = tuple[str, dict[str, Any]]


def schema_of(kind: Kind) -> dict[str, Any]:
    [version] = render_crd(kind, kubernetes_type)["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def parts_of(schema: dict[str, Any], path: str = "") -> Iterator[Place]:
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from parts_of(each, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            yield from parts_of(schema[word], f"{path}[]")


PARTS = [pytest.param(kind, id=kind.model.__name__) for kind in KINDS]


@pytest.mark.parametrize("kind", PARTS)
def test_no_field_has_a_default_because_defaults_are_merged_in_code(kind: Kind) -> None:
    assert [path for path, part in parts_of(schema_of(kind)) if "default" in part] == []


@pytest.mark.parametrize("kind", PARTS)
def test_every_field_is_explained(kind: Kind) -> None:
    standard = {".apiVersion", ".kind", ".metadata"}
    silent = [
        f"{path}.{name}"
        for path, part in parts_of(schema_of(kind))
        for name, each in part.get("properties", {}).items()
        if "description" not in each
    ]
    assert set(silent) <= standard


@pytest.mark.parametrize("kind", PARTS)
def test_every_part_has_a_type_or_says_that_it_is_open(kind: Kind) -> None:
    open_marks = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
    assert [
        path for path, part in parts_of(schema_of(kind)) if "type" not in part and not open_marks & part.keys()
    ] == []


def test_only_a_pod_template_and_directives_may_hold_unknown_fields() -> None:
    found = {
        path
        for kind in KINDS
        for path, part in parts_of(schema_of(kind))
        if part.get("x-kubernetes-preserve-unknown-fields")
    }
    assert found == {".spec.podTemplate", ".spec.config[]", ".spec.template.config[]"}


def test_every_list_of_ours_is_bounded_so_that_rules_over_it_stay_cheap() -> None:
    unbounded = {
        path
        for kind in KINDS
        for path, part in parts_of(schema_of(kind)["properties"]["spec"])
        if part.get("type") == "array" and "maxItems" not in part
    }
    embedded = (
        "affinity",
        "tolerations[]",
        "topologySpreadConstraints[]",
        "resources",
        "securityContext",
        "directives",
    )
    assert {path for path in unbounded if not any(word in path for word in embedded)} == set()


@pytest.mark.parametrize("kind", PARTS)
def test_each_rule_has_a_message_and_as_many_values_as_the_message_names(kind: Kind) -> None:
    for _, part in parts_of(schema_of(kind)):
        for rule in part.get("x-kubernetes-validations", []):
            assert ("message" in rule) != ("messageExpression" in rule)
            assert "%s" not in rule.get("message", "")


def test_short_names_are_the_ones_people_were_promised() -> None:
    assert {kind.model.__name__: kind.short_name for kind in KINDS} == {
        "Valkey": "vk",
        "ValkeyPool": "vkp",
        "ValkeyCluster": "vc",
        "Sentinel": "vks",
        "ValkeyNode": "vn",
        "ValkeyShard": "vsh",
        "ValkeyOperatorDefaults": None,
    }


def test_no_category_is_the_name_of_a_resource_or_kubectl_would_refuse_that_name() -> None:
    crds = [render_crd(kind, kubernetes_type)["spec"]["names"] for kind in KINDS]
    names = {names[word] for names in crds for word in ("singular", "plural")}
    assert not names & {category for names in crds for category in names["categories"]}
