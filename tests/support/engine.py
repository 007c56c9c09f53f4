"""Builders for the engine: a kind of objects, and sound examples of it."""

from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from valkey_operator.kube.objects import Key, KubeObject, ObjectMeta, Query, Resource
from valkey_operator.runtime.metrics import EngineMetrics

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")


class ConfigMap(KubeObject, frozen=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


def metrics() -> EngineMetrics:
    return EngineMetrics(CollectorRegistry())


def config_map(name: str, version: int = 1, *, data: dict[str, str] | None = None, **meta: Any) -> ConfigMap:
    known = {"namespace": "here", "uid": f"uid of {name}", "resource_version": str(version)}
    return ConfigMap(ObjectMeta(name=name, **known | meta), data or {})


def key(name: str, namespace: str = "here") -> Key:
    return Key(namespace, name)


def everything(namespace: str | None = None, selector: str | None = None) -> Query:
    return Query(CONFIG_MAPS, namespace, selector)
