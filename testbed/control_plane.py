"""etcd, the API server, the controller manager, the scheduler and DNS, on this machine beside the nodes."""

import time
from collections.abc import Callable
from pathlib import Path

from testbed import kubectl, kubernetes, processes
from testbed.errors import TestbedError
from testbed.layout import Layout

READY_DEADLINE_S = 120
COMPONENTS = ("etcd", "apiserver", "controller-manager", "scheduler", "dns")


def start(layout: Layout, component: str) -> None:
    processes.start(layout, component, [kubernetes.binary(), component, *ARGUMENTS[component](layout)])


def wait_until_api_answers(layout: Layout) -> None:
    deadline = time.monotonic() + READY_DEADLINE_S
    while kubectl.attempt(layout, "get", "--raw", "/readyz").returncode:
        if time.monotonic() > deadline:
            log = (layout.logs / "apiserver.log").read_text()[-1500:]
            raise TestbedError(f"the API server is not ready after {READY_DEADLINE_S} s; its log ends in: {log}")
        time.sleep(0.1)


def etcd_arguments(layout: Layout) -> list[str]:
    client, peer = f"http://{layout.etcd_ip}:2379", f"http://{layout.etcd_ip}:2380"
    return [
        f"--data-dir={layout.state / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver_arguments(layout: Layout) -> list[str]:
    pki = layout.pki
    return [
        f"--etcd-servers=http://{layout.etcd_ip}:2379",
        f"--advertise-address={layout.host_ip}",
        f"--bind-address={layout.host_ip}",
        "--secure-port=6443",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={layout.service_range}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-client-certificate={pki / 'admin.crt'}",
        f"--kubelet-client-key={pki / 'admin.key'}",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
        # Webhooks in pods are reached by endpoint: this machine has no kube-proxy of its own.
        "--enable-aggregator-routing=true",
        "--profiling=false",
        "--v=1",
    ]


def controller_manager_arguments(layout: Layout) -> list[str]:
    pki = layout.pki
    return [
        f"--kubeconfig={layout.kubeconfig('controller-manager')}",
        f"--bind-address={layout.etcd_ip}",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        "--use-service-account-credentials=true",
        f"--cluster-cidr={layout.pod_range}",
        f"--service-cluster-ip-range={layout.service_range}",
        # A tenth to a fifth of the usual values, so that a test sees a lost node in seconds.
        "--node-monitor-grace-period=10s",
        "--node-monitor-period=1s",
        "--leader-elect=false",
        "--profiling=false",
    ]


def scheduler_arguments(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig('scheduler')}",
        f"--bind-address={layout.etcd_ip}",
        "--leader-elect=false",
        "--profiling=false",
    ]


def dns_arguments(layout: Layout) -> list[str]:
    corefile = layout.state / "Corefile"
    corefile.write_text(corefile_text(layout.host_ip, layout.kubeconfig()))
    return ["-conf", str(corefile)]


def corefile_text(address: str, kubeconfig: Path) -> str:
    return f""".:53 {{
    bind {address}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods verified
        ttl 5
    }}
    cache 5
}}
"""


ARGUMENTS: dict[str, Callable[[Layout], list[str]]] = {
    "etcd": etcd_arguments,
    "apiserver": apiserver_arguments,
    "controller-manager": controller_manager_arguments,
    "scheduler": scheduler_arguments,
    "dns": dns_arguments,
}
