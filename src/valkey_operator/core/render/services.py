"""The Services of a Valkey: for writes, for reads, for finding all nodes, for metrics.

Owns: names, selectors and ports. Refuses to know: which pod has which role; the pods' labels say it.
"""

from collections.abc import Mapping

from valkey_operator.core.effective import EffectiveService, EffectiveWorkload
from valkey_operator.core.names import ROLE_LABEL, Owner, pods_of
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import SERVER_PORT


def services(owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload, *, alone: bool) -> list[Manifest]:
    """All Services; `alone` says that there is but one node, which is found without its role."""
    pods = pods_of(labels)
    # One server alone must be found after a restart even if nobody is there to say that it is the primary.
    writers = pods if alone else {**pods, ROLE_LABEL: "primary"}
    found = [
        _service("", owner, labels, spec.service, selector=writers),
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
