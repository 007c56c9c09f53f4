"""Where the write Service leads to: an EndpointSlice that the operator keeps itself.

Kubernetes would keep one by the role labels of pods, and it is slow where that matters most: it drops a primary that is
being stopped while that still hands over, and a Service whose endpoints have just changed changes no sooner than a
second later (docs/decisions/2026-11-16-write-endpoint.md).
"""

from collections.abc import Mapping
from ipaddress import ip_address

from valkey_operator.core.names import MANAGER, SLICE_MANAGER_LABEL, Owner
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.render.objects import Manifest, metadata, without_empty
from valkey_operator.core.render.pod import SERVER_PORT

SERVICE_NAME_LABEL = "kubernetes.io/service-name"


def write_endpoint(owner: Owner, labels: Mapping[str, str], primary: PodFacts, address: str) -> Manifest:
    """The slice of the write Service."""
    marks = {**labels, SERVICE_NAME_LABEL: owner.name, SLICE_MANAGER_LABEL: MANAGER}
    return {
        "metadata": metadata(owner.name, owner, marks, cr=owner.name),
        "addressType": f"IPv{ip_address(address).version}",
        "ports": [{"name": "valkey", "port": SERVER_PORT, "protocol": "TCP"}],
        "endpoints": [_endpoint(owner, primary, address)],
    }


def _endpoint(owner: Owner, pod: PodFacts, address: str) -> Manifest:
    """Ready whatever the pod's probes say: whether it takes writes is known better than by them."""
    target = {"kind": "Pod", "namespace": owner.namespace, "name": pod.name, "uid": pod.uid}
    return {
        "addresses": [address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": target,
        **without_empty(nodeName=pod.machine, zone=pod.zone),
    }
