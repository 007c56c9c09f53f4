"""The fields of a spec as its guide in docs/ lists them: made from the models, so that it cannot say otherwise.

A table stands between `<!-- fields: <prefix> … -->` and `<!-- end -->`; its rows are the fields under these prefixes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from valkey_operator.api import references
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.fields import Doc, Model
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core import builtin

# Fields that are accepted and kept, and that nothing acts on yet. Whoever makes one work takes it out of this list.
NOT_YET = (
    "sentinel",
    "tls",
    "auth.acl",
    "updateStrategy",
    "azDistribution.failback",
    "exporter.serviceMonitor",
    "exporter.rules",
    "exporter.dashboard",
    "operatorMtls",
)


class Field(NamedTuple):
    """A field that holds a value, by its path, such as `persistence.rdb.savePolicy[].seconds`."""

    path: str
    text: str


class Guide(NamedTuple):
    """A document, the spec whose fields it lists, what is built in, and fields that work here alone."""

    document: str
    spec: type[Model]
    built_in: Mapping[str, Any]
    works_here: tuple[str, ...] = ()

    def fields(self) -> list[Field]:
        """All that the spec has."""
        return list(fields_of(self.spec))


MARKED = re.compile(r"<!-- fields: (?P<prefixes>[^>]+?) -->\n(?P<table>.*?)<!-- end -->\n", re.DOTALL)
_BUILT_IN = re.compile(r"\s*Built in: (?P<value>.*)\.$", re.DOTALL)
_HEAD = "| field | built in | what it does |\n| --- | --- | --- |\n"


VALKEY_GUIDE = Guide("docs/valkey.md", ValkeySpec, builtin.VALKEY)
CLUSTER_GUIDE = Guide("docs/cluster.md", ValkeyClusterSpec, builtin.CLUSTER, works_here=("azDistribution.failback",))


def fields_of(model: type[Model], prefix: str = "") -> Iterator[Field]:
    """Every field below a model that holds a value, a list or a reference, in the order in which they are declared."""
    hints = get_type_hints(model, include_extras=True)
    for field in msgspec.structs.fields(model):
        kind, doc = _annotated(hints[field.name])
        path = f"{prefix}{field.encode_name}"
        inner, is_list = _model_in(kind)
        if inner is None:
            yield Field(path, doc.text)
            continue
        if is_list or inner.__module__ == references.__name__:
            yield Field(path, doc.text)
        yield from fields_of(inner, f"{path}[]." if is_list else f"{path}.")


def render_table(guide: Guide, prefixes: list[str]) -> str:
    """The table of all fields under these prefixes, in the order of the prefixes."""
    rows = [_row(guide, field) for prefix in prefixes for field in guide.fields() if is_under(field.path, prefix)]
    return _HEAD + "".join(f"{row}\n" for row in rows)


def is_under(path: str, prefix: str) -> bool:
    """Whether a field is the one that is named, or within it."""
    return path == prefix or path.startswith((f"{prefix}.", f"{prefix}[]."))


def _row(guide: Guide, field: Field) -> str:
    found = _BUILT_IN.search(field.text)
    says = _BUILT_IN.sub("", field.text)
    waits = any(is_under(field.path, prefix) for prefix in NOT_YET if prefix not in guide.works_here)
    value = _built_in_value(guide, field.path) or (found["value"] if found else "")
    text = " ".join(f"{'*Not yet.* ' if waits else ''}{says}".split())
    return f"| `{field.path}` | {value.replace('|', chr(92) + '|')} | {text.replace('|', chr(92) + '|')} |"


def _built_in_value(guide: Guide, path: str) -> str | None:
    """The value as code has it, where it is a plain one."""
    value: Any = guide.built_in
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None or isinstance(value, list | Mapping):
        return None
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _annotated(hint: Any) -> tuple[Any, Doc]:
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Annotated:
            kind, doc, *_ = get_args(part)
            return kind, doc
    raise AssertionError(f"{hint} has no text")


def _model_in(kind: Any) -> tuple[type[Model] | None, bool]:
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and issubclass(part, Model):
            return part, False
        if get_origin(part) is list:
            [item] = get_args(part)
            if isinstance(item, type) and issubclass(item, Model):
                return item, True
    return None, False
