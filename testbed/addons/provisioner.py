"""The daemon that gives every claim of our storage class a volume, lets it grow, and takes it back."""

import logging
import time
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import assert_never

from testbed.addons import volumes
from testbed.addons.backoff import Backoff
from testbed.addons.claims import (
    Grow,
    Mount,
    Picture,
    Provision,
    Refuse,
    Release,
    Step,
    Sweep,
    TellSize,
    decide,
    is_removal,
    remaining_conditions,
)
from testbed.addons.kubeapi import MERGE_PATCH, Api, ApiError, Json, Request
from testbed.addons.loop import drive
from testbed.addons.manifests import persistent_volume, warning
from testbed.addons.mirror import Mirror, Snapshot
from testbed.addons.quantity import render_quantity
from testbed.errors import TestbedError

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
# Somebody may unmount a volume, and nothing announces it.
LOOK_AGAIN_S = 10.0
# An unmount takes a tenth of a second; a claim that comes meanwhile must not wait for many of them.
REMOVALS_S = 0.1
# As the well-known provisioners and resizers name them.
FAILURES: dict[type[Step], str] = {
    Provision: "ProvisioningFailed",
    Refuse: "ProvisioningFailed",
    Mount: "VolumeMountFailed",
    Grow: "VolumeResizeFailed",
    TellSize: "VolumeResizeFailed",
    Release: "VolumeFailedDelete",
    Sweep: "VolumeFailedDelete",
}

log = logging.getLogger(__name__)


def run(kubeconfig: Path, root: Path) -> None:
    """Provide storage below `root` until SIGTERM."""
    api = Api(kubeconfig)
    mirror = Mirror(api, (CLAIMS, VOLUMES, CLASSES))
    root.mkdir(parents=True, exist_ok=True)
    # Resolved, because the kernel names mount points and backing files so.
    drive(mirror, Provisioner(api.request, mirror.snapshot, root.resolve()).step)


class Provisioner:
    """Does the steps that claims.py decides. Remembers nothing but when to try a failed one again."""

    def __init__(self, request: Request, snapshot: Snapshot, root: Path) -> None:
        self._request = request
        self._snapshot = snapshot
        self._root = root
        self._backoff = Backoff()

    def step(self) -> float:
        """Do what the present picture calls for; return the seconds after which to look again."""
        steps = decide(self._picture())
        self._backoff.keep_only({step.volume for step in steps})
        begun = time.monotonic()
        for step in steps:
            if is_removal(step) and time.monotonic() - begun > REMOVALS_S:
                return 0.0
            if self._backoff.is_ready(step.volume, time.monotonic()):
                self._attempt(step)
        return self._backoff.next_s(time.monotonic(), LOOK_AGAIN_S)

    def _picture(self) -> Picture:
        claims, known, classes = map(self._snapshot, (CLAIMS, VOLUMES, CLASSES))
        marked = volumes.unpublished(self._root)
        for name in marked & {volume["metadata"]["name"] for volume in known}:
            volumes.publish(self._root, name)
        return Picture(claims, known, classes, volumes.mounted(self._root), marked)

    def _attempt(self, step: Step) -> None:
        try:
            self._perform(step)
        except (TestbedError, ApiError, OSError) as error:
            delay = self._backoff.failed(step.volume, time.monotonic())
            log.warning("%s: %s: %s; trying again in %.1f s", step.volume, FAILURES[type(step)], error, delay)
            self._tell_failure(step, str(error))
        else:
            self._backoff.succeeded(step.volume)

    def _perform(self, step: Step) -> None:
        match step:
            case Provision():
                self._provision(step)
            case Refuse():
                raise TestbedError(step.why)
            case Mount():
                volumes.ensure_mounted(self._root, step.volume)
                log.info("%s: mounted", step.volume)
            case Grow():
                self._grow(step)
            case TellSize():
                self._tell_size(step)
            case Release() | Sweep():
                self._remove(step)
            case _:
                assert_never(step)

    def _provision(self, step: Provision) -> None:
        begun = time.monotonic()
        capacity = volumes.capacity_for(step.size)
        volumes.create(self._root, step.volume, capacity)
        path = volumes.mount_of(self._root, step.volume)
        created = self._create(VOLUMES, persistent_volume(step.claim, step.storage_class, capacity, path))
        volumes.publish(self._root, step.volume)
        if created:
            spent_ms = (time.monotonic() - begun) * 1000
            log.info("%s: made %s, %s, %d ms", _name(step.claim), step.volume, render_quantity(capacity), spent_ms)

    def _grow(self, step: Grow) -> None:
        capacity = volumes.capacity_for(step.size)
        volumes.grow(self._root, step.volume, capacity)
        spec = {"capacity": {"storage": render_quantity(capacity)}}
        self._request("PATCH", f"{VOLUMES}/{step.volume}", {"spec": spec}, MERGE_PATCH)
        log.info("%s: %s grown to %s", _name(step.claim), step.volume, render_quantity(capacity))

    def _tell_size(self, step: TellSize) -> None:
        capacity = {"storage": render_quantity(step.size)}
        status = {"capacity": capacity, "conditions": remaining_conditions(step.claim)}
        self._request("PATCH", f"{_path(step.claim)}/status", {"status": status}, MERGE_PATCH)
        log.info("%s: has %s now", _name(step.claim), capacity["storage"])

    def _remove(self, step: Release | Sweep) -> None:
        removed = volumes.remove(self._root, step.volume)
        if isinstance(step, Release):
            self._delete(f"{VOLUMES}/{step.volume}")
        if removed:
            log.info("%s: removed", step.volume)

    def _tell_failure(self, step: Step, message: str) -> None:
        """An Event on the claim, if the step is about one. Best effort: the log has it already."""
        if isinstance(step, Release | Sweep | Mount):
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event = warning(step.claim, FAILURES[type(step)], message, now)
        events = f"/api/v1/namespaces/{step.claim['metadata']['namespace']}/events"
        try:
            if not self._create(events, event):
                again = {"lastTimestamp": now}
                self._request("PATCH", f"{events}/{event['metadata']['name']}", again, MERGE_PATCH)
        except ApiError as error:
            log.warning("%s: no event: %s", _name(step.claim), error)

    def _create(self, path: str, item: Json) -> bool:
        """False if it is there already."""
        try:
            self._request("POST", path, item)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    def _delete(self, path: str) -> None:
        try:
            self._request("DELETE", path)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise


def _name(claim: Json) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def _path(claim: Json) -> str:
    return f"/api/v1/namespaces/{claim['metadata']['namespace']}/persistentvolumeclaims/{claim['metadata']['name']}"
