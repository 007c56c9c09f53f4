"""Metrics for Prometheus."""

from typing import Annotated

from valkey_operator.api.fields import Json, Model, doc


class Exporter(Model, frozen=True, kw_only=True):
    """The metrics exporter beside each server, and what makes its metrics useful."""

    enabled: Annotated[bool | None, doc("Run a metrics exporter beside each server. Built in: false.")] = None
    image: Annotated[
        str | None,
        doc("Image of the exporter. Built in: oliver006/redis_exporter:latest.", minLength=1, maxLength=1024),
    ] = None
    resources: Annotated[
        Json | None, doc("Resources of the exporter. Built in: none.", kubernetes="ResourceRequirements")
    ] = None
    port: Annotated[int | None, doc("Port of the metrics. Built in: 9121.", minimum=1, maximum=65535)] = None
    service_monitor: Annotated[
        bool | None, doc("Create a ServiceMonitor for the Prometheus operator. Built in: false.")
    ] = None
    rules: Annotated[bool | None, doc("Create a PrometheusRule with alerts. Built in: false.")] = None
    dashboard: Annotated[bool | None, doc("Create a ConfigMap with a Grafana dashboard. Built in: false.")] = None
