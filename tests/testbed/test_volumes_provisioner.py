"""The storage daemon with real disks and a cluster of dictionaries: what it makes, takes back, and survives."""

import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.addons import provisioner, volumes
from testbed.addons.claims import SELECTED_NODE
from testbed.addons.kubeapi import JSON, ApiError
from testbed.addons.manifests import STORAGE_CLASS
from testbed.addons.provisioner import CLAIMS, CLASSES, VOLUMES, Provisioner
from testbed.commands import output

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")]

Json = dict[str, Any]

GIB = 1 << 30
NAME = "pvc-u1"
CLAIM_PATH = "/api/v1/namespaces/shop/persistentvolumeclaims/data"
EVENTS = "/api/v1/namespaces/shop/events"


class KilledError(BaseException):
    """Stands for SIGKILL: no handler of the daemon catches it."""


class Cluster:
    """One claim and its volume as the API server and the volume controller would keep them."""

    def __init__(self) -> None:
        self.claim: Json | None = {
            "metadata": {"name": "data", "namespace": "shop", "uid": "u1", "annotations": {SELECTED_NODE: "node0"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "standard",
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {},
        }
        self.volume: Json | None = None
        self.events: list[Json] = []

    def request(self, method: str, path: str, body: Json | None = None, content_type: str = JSON) -> Json:
        match (method, path.removesuffix("/status")):
            case ("POST", provisioner.VOLUMES) if self.volume is None:
                self.volume = copy.deepcopy(body)
            case ("POST", path) if path == EVENTS and body is not None:
                self.events.append(body)
            case ("PATCH", path) if path == CLAIM_PATH and self.claim and body:
                self.claim["status"] |= body["status"]
            case ("PATCH", path) if path == f"{VOLUMES}/{NAME}" and self.volume and body:
                self.volume["spec"] |= body["spec"]
            case ("DELETE", path) if path == f"{VOLUMES}/{NAME}":
                self.volume = None
            case _:
                raise ApiError(409 if method == "POST" else 404, f"{method} {path} {content_type}")
        return {}

    def snapshot(self, path: str) -> list[Json]:
        found = {CLAIMS: self.claim, VOLUMES: self.volume, CLASSES: STORAGE_CLASS}[path]
        return [copy.deepcopy(found)] if found else []

    def bind(self) -> None:
        assert self.claim is not None
        assert self.volume is not None
        self.claim["spec"]["volumeName"] = NAME
        self.claim["status"] = {"capacity": self.volume["spec"]["capacity"]}
        self.volume["status"] = {"phase": "Bound"}

    def ask_for(self, size: str) -> None:
        assert self.claim is not None
        self.claim["spec"]["resources"]["requests"]["storage"] = size

    def delete_claim(self) -> None:
        self.claim = None
        if self.volume is not None:
            self.volume["status"] = {"phase": "Released"}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert volumes.unmount_all(tmp_path) == []


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def daemon(cluster: Cluster, root: Path) -> Provisioner:
    return Provisioner(cluster.request, cluster.snapshot, root)


def settle(cluster: Cluster, root: Path) -> None:
    """A freshly started daemon, for as many passes as the longest way from claim to done takes."""
    fresh = daemon(cluster, root)
    for _ in range(3):
        fresh.step()


def provisioned(cluster: Cluster, root: Path) -> None:
    settle(cluster, root)
    cluster.bind()


def capacity(cluster: Cluster) -> tuple[str, str]:
    assert cluster.claim is not None
    assert cluster.volume is not None
    return cluster.volume["spec"]["capacity"]["storage"], cluster.claim["status"]["capacity"]["storage"]


def test_a_claim_gets_a_mounted_volume(cluster: Cluster, root: Path) -> None:
    settle(cluster, root)
    assert cluster.volume is not None
    assert cluster.volume["spec"]["local"]["path"] == str(volumes.mount_of(root, NAME))
    assert volumes.mounted(root) == {NAME}
    assert volumes.unpublished(root) == frozenset()


def test_a_larger_request_reaches_disk_volume_and_claim(cluster: Cluster, root: Path) -> None:
    provisioned(cluster, root)
    cluster.ask_for("2Gi")
    settle(cluster, root)
    assert capacity(cluster) == ("2Gi", "2Gi")
    status = os.statvfs(volumes.mount_of(root, NAME))
    assert status.f_blocks * status.f_frsize == 2 * GIB


def test_a_deleted_claim_takes_its_volume_along(cluster: Cluster, root: Path) -> None:
    provisioned(cluster, root)
    cluster.delete_claim()
    settle(cluster, root)
    assert cluster.volume is None
    assert list(root.iterdir()) == []


def test_a_restart_mounts_what_is_not_mounted(cluster: Cluster, root: Path) -> None:
    provisioned(cluster, root)
    volumes.unmount_all(root)
    settle(cluster, root)
    assert volumes.mounted(root) == {NAME}


def test_a_failure_is_an_event_on_the_claim_and_is_tried_again(
    cluster: Cluster, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    waiting = daemon(cluster, root)
    with monkeypatch.context() as broken:
        broken.setattr(volumes, "create", no_space)
        delay_s = waiting.step()
    assert [(event["reason"], event["involvedObject"]["name"]) for event in cluster.events] == [
        ("ProvisioningFailed", "data")
    ]
    assert "No space left on device" in cluster.events[0]["message"]
    assert 0 < delay_s < 1
    settle(cluster, root)
    assert volumes.mounted(root) == {NAME}


def killed_at(call: int, real: Callable[..., str], *, after: bool) -> Callable[..., str]:
    """A way to run commands that dies at one of them, before or after its effect."""
    calls = iter(range(1000))

    def run(*args: Any, **kwargs: Any) -> str:
        dies = next(calls) == call
        if dies and not after:
            raise KilledError
        said = real(*args, **kwargs)
        if dies:
            raise KilledError
        return said

    return run


KILLS = [(call, after) for call in range(4) for after in (False, True)]


@pytest.mark.parametrize(("call", "after"), KILLS)
def test_a_kill_while_provisioning_costs_nothing(
    cluster: Cluster, root: Path, monkeypatch: pytest.MonkeyPatch, *, call: int, after: bool
) -> None:
    with monkeypatch.context() as doomed:
        doomed.setattr(volumes, "output", killed_at(call, output, after=after))
        with pytest.raises(KilledError):
            daemon(cluster, root).step()
    settle(cluster, root)
    assert cluster.volume is not None
    assert volumes.mounted(root) == {NAME}
    assert volumes.unpublished(root) == frozenset()


@pytest.mark.parametrize(("call", "after"), KILLS)
def test_a_kill_while_provisioning_leaves_nothing_of_a_claim_that_went(
    cluster: Cluster, root: Path, monkeypatch: pytest.MonkeyPatch, *, call: int, after: bool
) -> None:
    with monkeypatch.context() as doomed:
        doomed.setattr(volumes, "output", killed_at(call, output, after=after))
        with pytest.raises(KilledError):
            daemon(cluster, root).step()
    cluster.delete_claim()
    settle(cluster, root)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(("call", "after"), [(call, after) for call in range(2) for after in (False, True)])
def test_a_kill_while_growing_costs_nothing(
    cluster: Cluster, root: Path, monkeypatch: pytest.MonkeyPatch, *, call: int, after: bool
) -> None:
    provisioned(cluster, root)
    cluster.ask_for("2Gi")
    with monkeypatch.context() as doomed:
        doomed.setattr(volumes, "output", killed_at(call, output, after=after))
        with pytest.raises(KilledError):
            daemon(cluster, root).step()
    settle(cluster, root)
    assert capacity(cluster) == ("2Gi", "2Gi")
