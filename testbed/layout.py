"""Every name, address and path of a testbed, derived from its name and its slot.

A slot is a small number that keeps the address ranges and link names of testbeds on one machine apart. Nothing else in
this package spells an address or a path of its own.
"""

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path

STATE_ROOT = Path("/var/lib/valkey-testbed")
MAX_SLOTS = 16
MAX_NODES = 32
ZONES = ("zone-a", "zone-b", "zone-c")
REPOSITORY = Path(__file__).resolve().parent.parent
NAME_PATTERN = re.compile(r"[a-z]([a-z0-9-]{0,18}[a-z0-9])?")


def cache_root() -> Path:
    """Where builds are kept between testbeds and clones."""
    given = os.environ.get("VALKEY_OPERATOR_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "valkey-operator"


@dataclass(frozen=True)
class NodeLayout:
    """One node: a machine in all but name."""

    name: str
    ip: str
    pod_range: str
    zone: str
    link: str
    netns: Path
    state: Path
    cgroup: str

    @property
    def containerd_socket(self) -> Path:
        return self.state / "containerd.sock"


@dataclass(frozen=True)
class Layout:
    """One testbed."""

    name: str
    slot: int

    @property
    def state(self) -> Path:
        return STATE_ROOT / self.name

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def image_catalogue(self) -> Path:
        return self.state / "images.json"

    @property
    def faults(self) -> Path:
        return self.state / "faults"

    @property
    def netns(self) -> Path:
        return self.state / "netns"

    @property
    def cgroup(self) -> str:
        return f"testbed-{self.name}"

    @property
    def bridge(self) -> str:
        return f"tb{self.slot}"

    @property
    def node_range(self) -> str:
        return f"10.89.{self.slot}.0/24"

    @property
    def host_ip(self) -> str:
        return f"10.89.{self.slot}.1"

    @property
    def pod_range(self) -> str:
        return f"10.{128 + self.slot}.0.0/16"

    @property
    def service_range(self) -> str:
        return f"10.{160 + self.slot}.0.0/16"

    @property
    def api_service_ip(self) -> str:
        return f"10.{160 + self.slot}.0.1"

    @property
    def dns_service_ip(self) -> str:
        return f"10.{160 + self.slot}.0.10"

    @property
    def api_url(self) -> str:
        return f"https://{self.host_ip}:6443"

    @property
    def etcd_ip(self) -> str:
        # Every address of 127/8 is this machine's own, so testbeds need no ports of their own.
        return f"127.89.{self.slot}.1"

    @property
    def ranges(self) -> tuple[ipaddress.IPv4Network, ...]:
        return tuple(ipaddress.IPv4Network(r) for r in (self.node_range, self.pod_range, self.service_range))

    def kubeconfig(self, user: str = "admin") -> Path:
        return self.state / "kubeconfig" / user

    def node(self, index: int) -> NodeLayout:
        name = f"node{index}"
        return NodeLayout(
            name=name,
            ip=f"10.89.{self.slot}.{10 + index}",
            pod_range=f"10.{128 + self.slot}.{index}.0/24",
            zone=ZONES[index % len(ZONES)],
            link=f"{self.bridge}n{index}",
            netns=self.netns / name,
            state=self.state / name,
            cgroup=f"{self.cgroup}/{name}",
        )

    def nodes(self, count: int) -> list[NodeLayout]:
        return [self.node(index) for index in range(count)]
