"""What a ValkeyNode becomes: workload, Service, claim, settings, and the certificate of its agent.

Owns: the manifests of one pod. Refuses to know: what is in the pod's template, and when a pod may be replaced.
"""

import base64
from collections.abc import Mapping

from valkey_operator.api.node import ValkeyNodeSpec
from valkey_operator.core.names import (
    NODE_LABEL,
    RENEW_AT_ANNOTATION,
    Owner,
    certificate_name,
    claim_name,
    settings_name,
)
from valkey_operator.core.render.directives import listed
from valkey_operator.core.render.objects import Manifest, metadata, without_empty
from valkey_operator.core.render.pod import BUS_PORT, SERVER_PORT
from valkey_operator.valkey.boot import render_boot_conf
from valkey_operator.valkey.conf import render_conf


def workload(node: Owner, labels: Mapping[str, str], spec: ValkeyNodeSpec, *, cr: str, may_replace: bool) -> Manifest:
    """A StatefulSet that replaces its pod only when that is deleted, or a Deployment that never runs two.

    A Deployment replaces its pod by itself whenever its template changes, unless it is paused.
    """
    common = {
        "replicas": 1,
        "selector": {"matchLabels": {NODE_LABEL: node.name}},
        "template": spec.pod_template or {},
        "revisionHistoryLimit": 2,
    }
    own = (
        {"strategy": {"type": "Recreate"}, "paused": not may_replace}
        if is_deployment(spec)
        else {
            "serviceName": node.name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
        }
    )
    return {"metadata": metadata(node.name, node, labels, cr=cr), "spec": {**common, **own}}


def is_deployment(spec: ValkeyNodeSpec) -> bool:
    """Whether the node runs as a Deployment."""
    return spec.pod_management_type == "deployment"


def node_service(node: Owner, labels: Mapping[str, str], spec: ValkeyNodeSpec, *, cr: str) -> Manifest:
    """The node's own address; it outlives the pod, and leads to it before it is Ready."""
    service = spec.service
    ports = {"valkey": SERVER_PORT, **({"bus": BUS_PORT} if _is_clustered(spec) else {})}
    annotations = service.annotations if service else None
    return {
        "metadata": metadata(node.name, node, labels, cr=cr, annotations=annotations),
        "spec": {
            "type": (service.type if service else None) or "ClusterIP",
            "publishNotReadyAddresses": True,
            "selector": {NODE_LABEL: node.name},
            "ports": [
                {"name": name, "port": port, "targetPort": name, "protocol": "TCP"} for name, port in ports.items()
            ],
        },
    }


def _is_clustered(spec: ValkeyNodeSpec) -> bool:
    cluster = spec.valkey_config.cluster if spec.valkey_config else None
    return cluster is not None and bool(cluster.enabled)


def with_address(service: Manifest, address: str | None) -> Manifest:
    """A Service that was deleted gets its address back, so that servers need not be told of another one."""
    return service if address is None else {**service, "spec": {**service["spec"], "clusterIP": address}}


def claim(node: Owner, labels: Mapping[str, str], spec: ValkeyNodeSpec, *, cr: str, heir: Owner | None) -> Manifest:
    """The volume; it goes with `heir`, or stays for good where there is none."""
    volume = spec.persistence
    size = volume.size if volume and volume.size is not None else "10Gi"
    owner = heir or node
    return {
        "metadata": metadata(claim_name(node.name), owner, labels, cr=cr, owned=heir is not None),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **without_empty(storageClassName=volume.storage_class_name if volume else None),
        },
    }


def volume_refused(name: str, *, has: str | None, wanted: str, answer: str) -> str:
    """What a person should know about a claim that the API server did not accept."""
    if has is None:
        return f"Volume {name} of {wanted} cannot be made: {answer}."
    remedy = "Set allowVolumeExpansion: true on its StorageClass, and it grows by itself."
    return f"Volume {name} stays at {has}, and {wanted} is refused: {answer}. {remedy}"


def settings(node: Owner, labels: Mapping[str, str], spec: ValkeyNodeSpec, *, cr: str, address: str) -> Manifest:
    """What the server reads: how it waits at the gate, and what the user decided."""
    directives = (spec.valkey_config.directives if spec.valkey_config else None) or {}
    announced = {"replica-announce-ip": [address], "replica-announce-port": [str(SERVER_PORT)]}
    return {
        "metadata": metadata(settings_name(node.name), node, labels, cr=cr),
        "data": {
            "boot.conf": render_boot_conf(gate="/gate", data="/data"),
            "valkey.conf": render_conf(listed({**directives, **announced})),
        },
    }


def certificate(
    node: Owner, labels: Mapping[str, str], files: Mapping[str, bytes], *, cr: str, renew_at: str
) -> Manifest:
    """The agent's certificate, its key, and whom it trusts."""
    return {
        "metadata": metadata(
            certificate_name(node.name), node, labels, cr=cr, annotations={RENEW_AT_ANNOTATION: renew_at}
        ),
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }
