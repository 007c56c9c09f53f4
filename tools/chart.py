"""What is generated within the chart: definitions and policies as templates, and the table of values in its README."""

import json
from typing import Any

import yaml

from tools.yaml_text import REPOSITORY, render_yaml

CHART = REPOSITORY / "charts" / "valkey-operator"
BEGIN = "<!-- values: written by `make generate` -->\n"
END = "<!-- end of values -->\n"
# Templates, so that an upgrade brings new ones; kept, because with a definition all of its objects are deleted.
_KEPT = {"helm.sh/resource-policy": "keep"}
_CONDITIONS = {
    "crd": ".Values.crds.install",
    "admission": 'and .Values.admissionPolicies.install (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version)',
}


def render_template(folder: str, *objects: dict[str, Any]) -> str:
    """Objects of config/crd or config/admission as a template of the chart."""
    kept = [each | {"metadata": each["metadata"] | {"annotations": _KEPT}} for each in objects]
    text = render_yaml(*kept).replace("{{", '{{ "{{" }}')
    return f"{{{{- if {_CONDITIONS[folder]} }}}}\n{text}{{{{- end }}}}\n"


def render_readme() -> str:
    """The chart's README with the table of values as they are today."""
    text = (CHART / "README.md").read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    rows = [f"| `{name}` | `{json.dumps(default)}` | {meaning} |\n" for name, default, meaning in table_of_values()]
    return "".join([before, BEGIN, "| value | default | what it does |\n| --- | --- | --- |\n", *rows, END, after])


def table_of_values() -> list[tuple[str, object, str]]:
    """Name, default and description of every value, in the order of values.yaml."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    return [row for name in values for row in _rows(name, values[name], schema["properties"][name])]


def _rows(name: str, value: object, schema: dict[str, Any]) -> list[tuple[str, object, str]]:
    """A value's own row; those of its parts, where the schema describes them."""
    parts = {key: part for key, part in schema.get("properties", {}).items() if "description" in part}
    if not parts or not isinstance(value, dict):
        return [(name, value, schema["description"])]
    return [row for key in parts for row in _rows(f"{name}.{key}", value[key], parts[key])]
