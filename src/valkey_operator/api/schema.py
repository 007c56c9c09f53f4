"""From a model to the structural OpenAPI schema of its CRD.

Owns: how a Python type is said in a schema that the API server accepts: references inlined, absent fields simply not
required, no defaults.
Refuses to know: where the schema of an embedded Kubernetes type comes from; it is handed in.
"""

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from valkey_operator.api.fields import Doc, Model, Rule
from valkey_operator.api.meta import ObjectMeta

Schema = dict[str, Any]
Embedded = Callable[[str], Schema]
"""The schema of a Kubernetes type, by its name."""

_SCALARS: Mapping[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
}
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}


def schema_of_model(model: type[Model], embedded: Embedded) -> Schema:
    """The schema of an object with the model's fields and rules."""
    hints = get_type_hints(model, include_extras=True)
    fields = msgspec.structs.fields(model)
    properties = {each.encode_name: schema_of_type(hints[each.name], embedded) for each in fields}
    required = [each.encode_name for each in fields if each.required]
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if model.RULES:
        schema["x-kubernetes-validations"] = [_validation(rule) for rule in model.RULES]
    return schema


def schema_of_type(annotation: object, embedded: Embedded) -> Schema:
    """The schema of one field or element."""
    if get_origin(annotation) is not Annotated:
        return _schema_of_bare_type(annotation, embedded)
    bare, *marks = get_args(annotation)
    [mark] = [each for each in marks if isinstance(each, Doc)][-1:]
    inner = embedded(mark.kubernetes) if mark.kubernetes else schema_of_type(bare, embedded)
    description = {"description": mark.text} if mark.text else {}
    return {**inner, **description, **mark.schema}


def _schema_of_bare_type(annotation: object, embedded: Embedded) -> Schema:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _schema_of_union([each for each in arguments if each is not types.NoneType], embedded)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": schema_of_type(arguments[0], embedded)}
    if origin is dict:
        return _schema_of_mapping(arguments[1], embedded)
    return _schema_of_class(annotation, embedded)


def _schema_of_class(annotation: object, embedded: Embedded) -> Schema:
    if annotation is ObjectMeta:
        return {"type": "object"}
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return schema_of_model(annotation, embedded)
    return dict(_SCALARS[annotation])


def _schema_of_union(choices: list[Any], embedded: Embedded) -> Schema:
    if len(choices) == 1:
        return schema_of_type(choices[0], embedded)
    if set(choices) == {int, str}:
        return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    # A structural schema has no other unions; what may stand here is checked by admission and by the operator.
    return dict(_ANYTHING)


def _schema_of_mapping(value: object, embedded: Embedded) -> Schema:
    if value is Any:
        return {"type": "object", **_ANYTHING}
    return {"type": "object", "additionalProperties": schema_of_type(value, embedded)}


def _validation(rule: Rule) -> Schema:
    place = {"fieldPath": rule.field} if rule.field else {}
    if not rule.values:
        return {"rule": rule.rule, "message": rule.message, **place}
    message = rule.message.replace("\\", "\\\\").replace("'", "\\'")
    return {"rule": rule.rule, "messageExpression": f"'{message}'.format([{', '.join(rule.values)}])", **place}
