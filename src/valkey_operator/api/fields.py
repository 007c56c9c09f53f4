"""What every model is made of: the base struct, a field's text and limits, and rules in CEL.

Owns: how a description and a constraint are written beside a field, so that the CRD is derived from one place.
Refuses to know: what a schema looks like (schema.py), and what the fields mean.

Constraints live in the schema alone. A model reads whatever the API server has stored, also what was stored before a
rule became stricter; only the type of a value is checked again.
"""

from typing import Any, ClassVar, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]
"""A part of a Kubernetes type that is handed on as it is."""

IntOrString: TypeAlias = int | str

ConfigScalar: TypeAlias = str | int | float | bool
ConfigValue: TypeAlias = ConfigScalar | list[ConfigScalar]
"""A directive's value; a list repeats the directive."""

QUANTITY = r"^[+]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$"
MEMORY_SIZE = r"^[0-9]+([bB]|[kKmMgG][bB]?)?$"
WHOLE_NUMBER = r"^[0-9]+$"
DURATION = r"^[0-9]+(ms|s|m|h)$"
VALIDITY = r"^[1-9][0-9]*(m|h|d|mo|y)$"
CRON = r"^[0-9*/,-]+( +[0-9A-Za-z*/,-]+){4}$"
DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

NAME_LENGTH = 253
LABEL_LENGTH = 63


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that the API server holds. Its message names the field, the value, and what would be right.

    `values` are CEL expressions, one for each %s of the message. They are put in by `format`: the API server's estimate
    of what an expression costs is far too high for strings that are joined by `+`.
    """

    rule: str
    message: str
    values: tuple[str, ...] = ()
    field: str | None = None


class Doc(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A field's text for `kubectl explain`, and what the schema says beyond the type."""

    text: str
    kubernetes: str | None = None
    """The Kubernetes type whose schema stands here."""
    schema: dict[str, object]


class Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a custom resource. A field that was not given is None: defaults are merged elsewhere."""

    RULES: ClassVar[tuple[Rule, ...]] = ()


def doc(text: str, kubernetes: str | None = None, **schema: object) -> Doc:
    """What stands beside a type in `Annotated`; `schema` holds keywords of OpenAPI as they are spelled there."""
    return Doc(text=text, kubernetes=kubernetes, schema=schema)


def map_list(text: str, key: str, *more_keys: str, at_most: int) -> Doc:
    """A list whose elements are known by their key, so that several writers can share it."""
    marks: dict[str, object] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key, *more_keys]}
    return Doc(text=text, schema={"maxItems": at_most, **marks})


def set_list(text: str, at_most: int) -> Doc:
    """A list in which a value stands at most once."""
    return Doc(text=text, schema={"maxItems": at_most, "x-kubernetes-list-type": "set"})


def name_of(text: str) -> Doc:
    """The name of an object in the same namespace."""
    return doc(text, minLength=1, maxLength=NAME_LENGTH, pattern=DNS_SUBDOMAIN)


def quantity(text: str) -> Doc:
    """A Kubernetes quantity such as 10Gi."""
    return doc(text, pattern=QUANTITY, maxLength=32)
