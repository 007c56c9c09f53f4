"""What this machine must offer: root, kernel features, Debian packages.

Checks come before changes: a machine that can't carry a testbed is told why in one sentence and left as it was.
"""

import fcntl
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from testbed import cgroups
from testbed.commands import attempt
from testbed.errors import TestbedError
from testbed.progress import Progress

PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "tc": "iproute2",
    "conntrack": "conntrack",
    "nsenter": "util-linux",
    "losetup": "mount",
    "mkfs.xfs": "xfsprogs",
    "openssl": "openssl",
    "sysctl": "procps",
    "mmdebstrap": "mmdebstrap",
    "buildah": "buildah",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
}
LOOP_CTL_GET_FREE = 0x4C82


def check() -> None:
    """Refuse in one sentence where a testbed can't run."""
    if os.geteuid() != 0:
        raise TestbedError("a testbed needs root (network namespaces, mounts, cgroups): run it with sudo")
    if sys.platform != "linux":
        raise TestbedError(f"a testbed needs Linux, and this is {sys.platform}")
    check_kernel(KERNEL_FEATURES)


def check_kernel(features: Mapping[str, Callable[[], bool]]) -> None:
    missing = [name for name, is_there in features.items() if not is_there()]
    if missing:
        raise TestbedError(f"this kernel lacks what a testbed needs: {', '.join(missing)}")


def has_namespaces() -> bool:
    return all(Path(f"/proc/self/ns/{kind}").exists() for kind in ("net", "pid", "mnt", "ipc", "uts"))


def has_overlay() -> bool:
    # Loadable modules appear in /proc/filesystems only once loaded, and mounting loads them.
    return "overlay" in Path("/proc/filesystems").read_text() or attempt(["modprobe", "overlay"]).returncode == 0


def has_xfs() -> bool:
    return "xfs" in Path("/proc/filesystems").read_text() or attempt(["modprobe", "xfs"]).returncode == 0


def has_loop_devices() -> bool:
    try:
        with Path("/dev/loop-control").open("rb") as control:
            return fcntl.ioctl(control, LOOP_CTL_GET_FREE) >= 0
    except OSError:
        return False


def has_nftables() -> bool:
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12).close()  # 12: NETLINK_NETFILTER
    except OSError:
        return False
    return True


def has_veth_and_bridge() -> bool:
    """Probed in a network namespace of its own that is gone with the command."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return True  # iproute2 is installed later; the kernel is then asked by the first real link
    probe = "ip link add b0 type bridge && ip link add v0 type veth peer name v1"
    return attempt(["unshare", "--net", "sh", "-c", probe]).returncode == 0


KERNEL_FEATURES: dict[str, Callable[[], bool]] = {
    "namespaces (CONFIG_NAMESPACES)": has_namespaces,
    "overlayfs (CONFIG_OVERLAY_FS)": has_overlay,
    "XFS (CONFIG_XFS_FS)": has_xfs,
    "loop devices (CONFIG_BLK_DEV_LOOP)": has_loop_devices,
    "nftables (CONFIG_NF_TABLES)": has_nftables,
    "veth and bridge links (CONFIG_VETH, CONFIG_BRIDGE)": has_veth_and_bridge,
    "cgroups with memory, cpu, pids and freezer": cgroups.available,
}


def missing_packages() -> list[str]:
    missing = {package for tool, package in PACKAGES.items() if shutil.which(tool) is None}
    if importlib.util.find_spec("ensurepip") is None:
        missing.add("python3-venv")
    return sorted(missing)


def install_packages(progress: Progress) -> None:
    """Install what is missing from Debian's packages."""
    wanted = missing_packages()
    if not wanted:
        return
    if shutil.which("apt-get") is None:
        raise TestbedError(f"install these first, as this is not a Debian machine: {', '.join(wanted)}")
    with progress.step(f"install Debian packages: {', '.join(wanted)}"):
        apt("update", "-q")
        with no_services_started():
            apt("install", "-q", "-y", "--no-install-recommends", *wanted)
    still = missing_packages()
    if still:
        raise TestbedError(f"these packages are installed, but their programs are not on the PATH: {', '.join(still)}")


@contextmanager
def no_services_started() -> Iterator[None]:
    """Keep containerd's package from starting a service of the machine's own that nobody asked for."""
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            policy.unlink()


def apt(*args: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", *args], check=False, text=True, capture_output=True, env=env)
    if done.returncode:
        raise TestbedError(f"`apt-get {' '.join(args)}` failed: {done.stderr.strip()[-1500:]}")
