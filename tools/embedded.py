"""Schemas of the Kubernetes types that stand inside our own, as the API server publishes them.

They are kept in kubernetes_types.json, so that generating CRDs needs no cluster. To take them from a newer one:
`bin/kubectl get --raw /openapi/v3/api/v1 | python -m tools.embedded > tools/kubernetes_types.json`
"""

import json
import sys
from pathlib import Path
from typing import Any

from valkey_operator.api.fields import QUANTITY
from valkey_operator.api.schema import Schema

FILE = Path(__file__).with_name("kubernetes_types.json")
TYPES = (
    "Affinity",
    "LocalObjectReference",
    "PodSecurityContext",
    "ResourceRequirements",
    "Toleration",
    "TopologySpreadConstraint",
)
_CORE = "io.k8s.api.core.v1."
_REFERENCE = "#/components/schemas/"
_PLAIN = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "enum")
_INT_OR_STRING: Schema = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
_SPECIAL: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_INT_OR_STRING, "pattern": QUANTITY},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
}


def kubernetes_type(name: str) -> Schema:
    """The schema of a Kubernetes type, ready to stand in a CRD."""
    schema: Schema = json.loads(FILE.read_text())[name]
    return schema


def inline(definitions: dict[str, Any], schema: dict[str, Any]) -> Schema:
    """A published schema without references and defaults, and with the first sentence of each description."""
    if reference := _reference(schema):
        found = _SPECIAL.get(reference) or inline(definitions, definitions[reference])
        return {**_described(schema), **{key: value for key, value in found.items() if key != "description"}}
    plain = {key: schema[key] for key in _PLAIN if key in schema}
    parts: Schema = {
        key: inline(definitions, schema[key]) for key in ("items", "additionalProperties") if key in schema
    }
    properties = {key: inline(definitions, value) for key, value in schema.get("properties", {}).items()}
    given = {key: value for key, value in (("properties", properties), ("required", schema.get("required"))) if value}
    return {**_described(schema), **plain, **parts, **given}


def _reference(schema: dict[str, Any]) -> str | None:
    [holder] = schema.get("allOf", [schema])
    reference = holder.get("$ref")
    return reference.removeprefix(_REFERENCE) if reference else None


def _described(schema: dict[str, Any]) -> Schema:
    text = " ".join(schema.get("description", "").split())
    return {"description": text.split(". ")[0].rstrip(".") + "."} if text else {}


def main() -> None:
    """Read the API server's document, write the types that we embed."""
    definitions = json.load(sys.stdin)["components"]["schemas"]
    types = {name: inline(definitions, definitions[_CORE + name]) for name in TYPES}
    json.dump(types, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
