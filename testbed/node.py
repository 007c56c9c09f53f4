"""One node: its containerd, kubelet and kube-proxy, in its own network namespace and cgroup."""

import json
import time
from pathlib import Path
from subprocess import CompletedProcess

from testbed import cgroups, kubernetes, pki, processes
from testbed.commands import attempt, output
from testbed.errors import TestbedError
from testbed.images import registry
from testbed.layout import Layout, NodeLayout

CNI_PLUGINS = Path("/usr/lib/cni")
SANDBOX_IMAGE = "localhost/pause:1"
READY_DEADLINE_S = 60
DAEMONS = ("containerd", "kubelet", "proxy")


def role(daemon: str, node: NodeLayout) -> str:
    return f"{daemon}-{node.name}"


def start_runtime(layout: Layout, node: NodeLayout) -> None:
    """containerd, and everything that it and the kubelet read when they start."""
    for folder in ("containerd", "run", "kubelet", "cni", "pod-logs"):
        (node.state / folder).mkdir(parents=True, exist_ok=True)
    cgroups.make(node.cgroup)
    (node.state / "cni" / "10-ptp.conflist").write_text(json.dumps(cni_config(node), indent=1))
    hosts = node.state / "registry" / "_default" / "hosts.toml"
    hosts.parent.mkdir(parents=True, exist_ok=True)
    hosts.write_text(registry_config(layout))
    config = node.state / "containerd.toml"
    config.write_text(containerd_config(node))
    processes.start(layout, role("containerd", node), ["containerd", "--config", config], netns=node.netns)


def wait_for_runtime(node: NodeLayout) -> None:
    deadline = time.monotonic() + READY_DEADLINE_S
    while ctr(node, "version").returncode:
        if time.monotonic() > deadline:
            raise TestbedError(f"containerd of {node.name} does not answer after {READY_DEADLINE_S} s")
        time.sleep(0.1)


def ctr(node: NodeLayout, *args: str) -> CompletedProcess[str]:
    return attempt(["ctr", "--address", node.containerd_socket, "--namespace", "k8s.io", *args])


def images(node: NodeLayout) -> set[str]:
    return set(output(["ctr", "-a", node.containerd_socket, "-n", "k8s.io", "images", "list", "-q"]).split())


def start_kubelet(layout: Layout, node: NodeLayout) -> None:
    pki.ensure_node(layout, node)
    config = node.state / "kubelet.json"
    config.write_text(json.dumps(kubelet_config(layout, node), indent=1))
    arguments = [
        f"--config={config}",
        f"--kubeconfig={layout.kubeconfig(node.name)}",
        f"--root-dir={node.state / 'kubelet'}",
        f"--hostname-override={node.name}",
        f"--node-ip={node.ip}",
        f"--node-labels=topology.kubernetes.io/zone={node.zone},topology.kubernetes.io/region=testbed",
        "--v=1",
    ]
    argv = [str(kubernetes.binary()), "kubelet", *arguments]
    processes.start(layout, role("kubelet", node), argv, netns=node.netns)


def start_proxy(layout: Layout, node: NodeLayout) -> None:
    arguments = [
        f"--kubeconfig={layout.kubeconfig('proxy')}",
        f"--hostname-override={node.name}",
        "--proxy-mode=iptables",
        # Callers outside this range (this machine) are masqueraded, so that replies find their way back.
        f"--cluster-cidr={layout.pod_range}",
        "--conntrack-max-per-core=0",
        "--healthz-bind-address=",
        "--metrics-bind-address=127.0.0.1:10249",
    ]
    argv = [str(kubernetes.binary()), "proxy", *arguments]
    processes.start(layout, role("proxy", node), argv, netns=node.netns)


def cni_config(node: NodeLayout) -> dict[str, object]:
    """A routed veth for each pod: all traffic of pods passes the node's forward hook, where policy can drop it."""
    ranges = {"ranges": [[{"subnet": node.pod_range}]], "routes": [{"dst": "0.0.0.0/0"}]}
    ipam = {"type": "host-local", "dataDir": str(node.state / "ipam"), **ranges}
    plugins = [
        {"type": "ptp", "ipMasq": False, "ipam": ipam},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ]
    return {"cniVersion": "0.4.0", "name": "testbed", "plugins": plugins}


def containerd_config(node: NodeLayout) -> str:
    return f"""version = 2
root = "{node.state}/containerd"
state = "{node.state}/run"
[grpc]
  address = "{node.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{node.state}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX_IMAGE}"
  netns_mounts_under_state_dir = true
  # Where CAP_SYS_RESOURCE is missing, runc could not lower the score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{node.state}/registry"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{node.state}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def registry_config(layout: Layout) -> str:
    """The testbed's registry in place of every other, also as the last resort: none of those can be reached."""
    address = f"http://{layout.host_ip}:{registry.PORT}"
    return f'server = "{address}"\n[host."{address}"]\n  capabilities = ["pull", "resolve"]\n'


def kubelet_config(layout: Layout, node: NodeLayout) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": str(layout.pki / "ca.crt")},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.pki / f"{node.name}.crt"),
        "tlsPrivateKeyFile": str(layout.pki / f"{node.name}.key"),
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "clusterDNS": [layout.dns_service_ip],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "maxPods": 200,
        "podLogsDir": str(node.state / "pod-logs"),
        "volumePluginDir": str(node.state / "volume-plugins"),
        "localStorageCapacityIsolation": False,
        # The nodes share one machine: its disk and memory are not a node's to evict pods for.
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 8,
        "syncFrequency": "10s",
    }
