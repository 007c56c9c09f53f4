"""The CustomResourceDefinitions: names, columns and subresources of each kind around its schema."""

from typing import Any

import msgspec

from valkey_operator.api.cluster import ValkeyCluster
from valkey_operator.api.fields import Model
from valkey_operator.api.meta import GROUP, VERSION
from valkey_operator.api.node import ValkeyNode
from valkey_operator.api.operator_defaults import ValkeyOperatorDefaults
from valkey_operator.api.pool import ValkeyPool
from valkey_operator.api.schema import Embedded, Schema, schema_of_model
from valkey_operator.api.sentinel import Sentinel
from valkey_operator.api.shard import ValkeyShard
from valkey_operator.api.valkey import Valkey

# Not "valkey": kubectl prefers a category, and refuses `kubectl delete valkey x`: "you must specify only one resource".
CATEGORY = "valkey-all"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server needs to know about a kind beside its schema."""

    model: type[Model]
    plural: str
    short_name: str | None
    columns: tuple[Column, ...]
    replicas_path: str | None = None


def _count(name: str, path: str) -> Column:
    return Column(name=name, path=path, type="integer")


_STATE = Column(name="State", path=".status.state")
_READY_PODS = (_count("Ready", ".status.readyReplicas"), _count("Total", ".status.totalReplicas"))
_READY_SHARDS = (_count("Ready", ".status.readyShards"), _count("Total", ".status.totalShards"))
_PRIMARY = Column(name="Primary", path=".status.primary")
_VERSION = Column(name="Version", path=".status.version")
_AGE = Column(name="Age", path=".metadata.creationTimestamp", type="date")
_REASON = Column(name="Reason", path=".status.reason", wide=True)
_END = (_VERSION, _AGE, _REASON)

KINDS = (
    Kind(
        model=Valkey,
        plural="valkeys",
        short_name="vk",
        columns=(_STATE, *_READY_PODS, _PRIMARY, *_END),
        replicas_path=".spec.replicas",
    ),
    Kind(model=ValkeyPool, plural="valkeypools", short_name="vkp", columns=(_STATE, *_READY_SHARDS, *_END)),
    Kind(
        model=ValkeyCluster,
        plural="valkeyclusters",
        short_name="vc",
        columns=(
            _STATE,
            *_READY_PODS,
            _count("Shards", ".status.totalShards"),
            _count("Slots", ".status.slotsAssigned"),
            *_END,
        ),
    ),
    Kind(
        model=Sentinel,
        plural="sentinels",
        short_name="vks",
        columns=(_STATE, *_READY_PODS, *_END),
        replicas_path=".spec.replicas",
    ),
    Kind(
        model=ValkeyNode,
        plural="valkeynodes",
        short_name="vn",
        columns=(
            _STATE,
            Column(name="Ready", path=".status.ready", type="boolean"),
            Column(name="Role", path=".status.observedRole"),
            *_END,
        ),
    ),
    Kind(
        model=ValkeyShard,
        plural="valkeyshards",
        short_name="vsh",
        columns=(
            Column(name="Primary", path=".spec.primary"),
            _count("Epoch", ".spec.epoch"),
            Column(name="Operation", path=".spec.operation.type"),
            _AGE,
        ),
    ),
    Kind(model=ValkeyOperatorDefaults, plural="valkeyoperatordefaults", short_name=None, columns=(_AGE,)),
)


def render_crd(kind: Kind, embedded: Embedded) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    name = kind.model.__name__
    names = {"kind": name, "listKind": f"{name}List", "plural": kind.plural, "singular": name.lower()}
    short = {"shortNames": [kind.short_name]} if kind.short_name else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {**names, **short, "categories": [CATEGORY]},
            "versions": [_version(kind, embedded)],
        },
    }


def _version(kind: Kind, embedded: Embedded) -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": _subresources(kind),
        "additionalPrinterColumns": [_printer_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": _root_schema(kind.model, embedded)},
    }


def _root_schema(model: type[Model], embedded: Embedded) -> Schema:
    description = " ".join((model.__doc__ or "").split())
    return {"description": description, **schema_of_model(model, embedded)}


def _subresources(kind: Kind) -> dict[str, Any]:
    status: dict[str, Any] = {"status": {}} if "status" in kind.model.__struct_fields__ else {}
    if kind.replicas_path is None:
        return status
    paths = {"specReplicasPath": kind.replicas_path, "statusReplicasPath": ".status.totalReplicas"}
    return {**status, "scale": {**paths, "labelSelectorPath": ".status.selector"}}


def _printer_column(column: Column) -> dict[str, Any]:
    wide = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **wide}
