"""The Services of a Valkey or a ValkeyCluster: for clients, for reads, for finding all nodes, for metrics.

Owns: names, selectors and ports. Refuses to know: which pod has which role: the pods' labels say it for reads, and for
writes an EndpointSlice (endpoints.py).
"""

from collections.abc import Mapping

from valkey_operator.core.effective import EffectiveService, EffectiveWorkload
from valkey_operator.core.names import CLUSTER_KIND, ENDPOINTS_LABEL, ROLE_LABEL, Owner, owner_labels, pods_of
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import SERVER_PORT


def services(owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload, *, alone: bool) -> list[Manifest]:
    """Those of a Valkey; `alone` says that there is but one node, which is found without its role."""
    pods = pods_of(labels)
    # One server alone must be found after a restart even if nobody is there to say that it is the primary.
    writers = pods if alone else {**pods, ENDPOINTS_LABEL: "kept-by-operator"}
    return _all(owner, labels, spec, clients_find=writers)


def cluster_services(owner: Owner, spec: EffectiveWorkload) -> list[Manifest]:
    """Those of a ValkeyCluster: any node tells a client where all slots are, so any that is Ready is found."""
    labels = owner_labels(CLUSTER_KIND, owner.name)
    return _all(owner, labels, spec, clients_find=pods_of(labels))


def _all(
    owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload, *, clients_find: Mapping[str, str]
) -> list[Manifest]:
    pods = pods_of(labels)
    found = [
        _service("", owner, labels, spec.service, selector=clients_find),
        _headless(owner, labels, pods),
    ]
    if spec.read_service.enabled:
        readers = {**pods, ROLE_LABEL: "replica"}
        found.append(_service("-read", owner, labels, spec.read_service, selector=readers))
    if spec.exporter.enabled:
        found.append(_metrics(owner, labels, pods, spec.exporter.port))
    return found


def _service(
    suffix: str, owner: Owner, labels: Mapping[str, str], service: EffectiveService, *, selector: Mapping[str, str]
) -> Manifest:
    name = f"{owner.name}{suffix}"
    return {
        "metadata": metadata(name, owner, labels, cr=owner.name, annotations=service.annotations),
        "spec": {"type": service.type, "selector": dict(selector), "ports": [_port("valkey", SERVER_PORT)]},
    }


def _headless(owner: Owner, labels: Mapping[str, str], selector: Mapping[str, str]) -> Manifest:
    return {
        "metadata": metadata(f"{owner.name}-nodes", owner, labels, cr=owner.name),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(selector),
            "ports": [_port("valkey", SERVER_PORT)],
        },
    }


def _metrics(owner: Owner, labels: Mapping[str, str], selector: Mapping[str, str], port: int) -> Manifest:
    return {
        "metadata": metadata(f"{owner.name}-metrics", owner, labels, cr=owner.name),
        "spec": {"clusterIP": "None", "selector": dict(selector), "ports": [_port("metrics", port)]},
    }


def _port(name: str, port: int) -> Manifest:
    return {"name": name, "port": port, "targetPort": name, "protocol": "TCP"}
