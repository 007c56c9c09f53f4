"""What a cluster has besides Kubernetes itself: DNS behind its Service, a StorageClass, NetworkPolicy, a registry."""

import sys
from typing import Any

from testbed import control_plane, kubectl, processes
from testbed.addons import volumes
from testbed.addons.manifests import STORAGE_CLASS
from testbed.layout import REPOSITORY, Layout

DAEMONS = ("storage", "policy", "registry")


def install(layout: Layout) -> None:
    kubectl.apply(layout, [*dns_objects(layout), STORAGE_CLASS])
    control_plane.start(layout, "dns")
    start_daemon(layout, "storage", "testbed.addons", "storage", str(layout.kubeconfig()), str(layout.volumes))
    start_daemon(layout, "policy", "testbed.addons", "policy", str(layout.kubeconfig()), str(layout.netns))
    start_daemon(layout, "registry", "testbed.images.registry", layout.host_ip, str(layout.image_catalogue))


def start_daemon(layout: Layout, role: str, module: str, *arguments: str) -> None:
    environment = {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
    processes.start(layout, role, [sys.executable, "-m", module, *arguments], env=environment)


def dns_objects(layout: Layout) -> list[dict[str, Any]]:
    """CoreDNS runs beside the API server, so its Service has an address and no selector."""
    name, namespace = "kube-dns", "kube-system"
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterIP": layout.dns_service_ip, "ports": ports},
    }
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [layout.host_ip], "conditions": {"ready": True}}],
        "ports": ports,
    }
    return [service, slice_]


def detach_volumes(layout: Layout) -> None:
    volumes.unmount_all(layout.volumes)
