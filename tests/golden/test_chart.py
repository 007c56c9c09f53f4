"""The chart's own files agree with each other and with the program; what Helm makes of them: tests/testbed."""

import json
import re
from importlib import metadata
from typing import Any

import yaml

from tools.chart import CHART, render_template, table_of_values
from valkey_operator.runtime.logs import LEVELS

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
ABOUT: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
JSON_TYPES = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object"}


def strict_objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema of named properties and those below it."""
    below = [each for part in schema.get("properties", {}).values() for each in strict_objects(part)]
    return [schema, *below] if "properties" in schema else below


def test_a_value_is_in_the_schema_and_has_a_default() -> None:
    assert set(SCHEMA["properties"]) == {*VALUES, "global"}
    for name, value in VALUES.items():
        properties = SCHEMA["properties"][name].get("properties")
        if properties and value:
            assert set(properties) == set(value), name


def test_a_default_has_the_type_that_the_schema_wants() -> None:
    for name, default, _ in table_of_values():
        schema = SCHEMA
        for part in name.split("."):
            schema = schema["properties"][part]
        schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if "type" in schema:
            assert schema["type"] == JSON_TYPES[type(default)], name


def test_no_object_of_the_schema_takes_a_name_that_it_does_not_know() -> None:
    assert all(each["additionalProperties"] is False for each in strict_objects(SCHEMA))


def test_the_levels_of_the_log_are_those_of_the_program() -> None:
    assert SCHEMA["properties"]["logLevel"]["enum"] == list(LEVELS)


def test_the_chart_is_for_this_version_of_the_program() -> None:
    assert ABOUT["appVersion"] == metadata.version("valkey-operator")
    assert re.sub(r"[-.]dev\.?", ".dev", ABOUT["version"]) == ABOUT["appVersion"]


def test_braces_in_a_definition_are_no_template() -> None:
    text = render_template("crd", {"kind": "X", "metadata": {"name": "x"}, "spec": "a {{ b }}"})
    assert 'a {{ "{{" }} b }}' in text
