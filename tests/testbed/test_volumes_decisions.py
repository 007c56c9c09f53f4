"""What the storage daemon decides to do, from made-up pictures of the cluster; and sizes as Kubernetes writes them."""

from pathlib import Path
from typing import Any

import pytest

from testbed.addons.backoff import Backoff, delay_s
from testbed.addons.claims import (
    SELECTED_NODE,
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
    remaining_conditions,
)
from testbed.addons.loopdevices import parse_backing_files
from testbed.addons.manifests import STORAGE_CLASS, persistent_volume, warning
from testbed.addons.quantity import parse_quantity, render_quantity
from testbed.addons.volumes import SMALLEST, capacity_for
from testbed.mounts import parse_mounts

Json = dict[str, Any]

GIB = 1 << 30
NAME = "pvc-u1"


def claim(*, request: str = "1Gi", has: str | None = None, scheduled: bool = True, **spec: Any) -> Json:
    return {
        "metadata": {
            "name": "data",
            "namespace": "shop",
            "uid": "u1",
            "annotations": {SELECTED_NODE: "node0"} if scheduled else {},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "standard",
            "resources": {"requests": {"storage": request}},
            **spec,
        },
        "status": {"capacity": {"storage": has}} if has else {},
    }


def bound(*, request: str = "1Gi", has: str = "1Gi") -> Json:
    return claim(request=request, has=has, volumeName=NAME)


def volume(*, capacity: int = GIB, phase: str = "Bound", policy: str = "Delete") -> Json:
    made = persistent_volume(claim(), {**STORAGE_CLASS, "reclaimPolicy": policy}, capacity, Path("/v/mnt"))
    return {**made, "status": {"phase": phase}}


def foreign() -> Json:
    other = volume(phase="Released")
    other["metadata"]["annotations"] = {}
    return other


def steps(
    claims: list[Json],
    volumes: list[Json],
    *,
    mounted: str = "",
    unpublished: str = "",
    storage_class: Json = STORAGE_CLASS,
) -> list[Step]:
    known = [storage_class]
    return decide(Picture(claims, volumes, known, frozenset(mounted.split()), frozenset(unpublished.split())))


IMMEDIATE = {**STORAGE_CLASS, "volumeBindingMode": "Immediate"}
SOMEBODY_ELSES = {**STORAGE_CLASS, "provisioner": "example.org/nfs"}


def test_a_scheduled_claim_gets_a_volume() -> None:
    assert steps([claim()], []) == [Provision(NAME, claim(), STORAGE_CLASS, GIB)]


def test_an_immediate_class_needs_no_scheduler() -> None:
    waiting = claim(scheduled=False)
    assert steps([waiting], [], storage_class=IMMEDIATE) == [Provision(NAME, waiting, IMMEDIATE, GIB)]


DELETED = claim()
DELETED["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
NOTHING: dict[str, tuple[list[Json], list[Json], Json]] = {
    "a claim the scheduler has not placed": ([claim(scheduled=False)], [], STORAGE_CLASS),
    "a claim of another provisioner": ([claim()], [], SOMEBODY_ELSES),
    "a claim of no class": ([claim(storageClassName="")], [], STORAGE_CLASS),
    "a claim that is being deleted": ([DELETED], [], STORAGE_CLASS),
    "a claim that names its volume": ([claim(volumeName="mine")], [], STORAGE_CLASS),
    "a claim whose volume waits to be bound": ([claim()], [volume(phase="Available")], STORAGE_CLASS),
    "a bound claim": ([bound()], [volume()], STORAGE_CLASS),
    "a claim that asks for less than it has": ([bound(request="512Mi")], [volume()], STORAGE_CLASS),
    "a released volume that is to be retained": ([], [volume(phase="Released", policy="Retain")], STORAGE_CLASS),
    "a released volume of somebody else": ([], [foreign()], STORAGE_CLASS),
}


@pytest.mark.parametrize(("claims", "volumes", "storage_class"), NOTHING.values(), ids=NOTHING.keys())
def test_nothing_is_done_for(claims: list[Json], volumes: list[Json], storage_class: Json) -> None:
    assert steps(claims, volumes, mounted=NAME, storage_class=storage_class) == []


IMPOSSIBLE: dict[str, tuple[Json, str]] = {
    "a raw block device": ({"volumeMode": "Block"}, "only volumeMode Filesystem is offered, not Block"),
    "a selector": ({"selector": {"matchLabels": {}, "matchExpressions": []}}, "selector"),
    "a snapshot": ({"dataSource": {"kind": "VolumeSnapshot"}}, "dataSource"),
}


@pytest.mark.parametrize(("spec", "words"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_can_not_be_had_is_refused_with_a_reason(spec: Json, words: str) -> None:
    (step,) = steps([claim(**spec)], [])
    assert isinstance(step, Refuse)
    assert words in step.why


def test_a_volume_that_lost_its_mount_is_mounted_before_anything_else() -> None:
    assert steps([bound(request="2Gi")], [volume()]) == [Mount(NAME)]


def test_a_claim_that_asks_for_more_makes_its_volume_grow() -> None:
    wish = bound(request="2Gi")
    assert steps([wish], [volume()], mounted=NAME) == [Grow(NAME, wish, 2 * GIB)]


def test_a_claim_learns_that_its_volume_has_grown() -> None:
    wish = bound(request="2Gi")
    assert steps([wish], [volume(capacity=2 * GIB)], mounted=NAME) == [TellSize(NAME, wish, 2 * GIB)]


def test_a_new_claim_of_the_same_name_does_not_touch_the_old_volume() -> None:
    successor = bound(request="2Gi")
    successor["metadata"]["uid"] = "u2"
    assert steps([successor], [volume()], mounted=NAME) == []


def test_a_released_volume_is_taken_back() -> None:
    assert steps([], [volume(phase="Released")], mounted=NAME) == [Release(NAME)]


def test_removals_come_last_because_nobody_waits_for_them() -> None:
    newcomer = claim()
    newcomer["metadata"]["uid"] = "u2"
    found = steps([newcomer], [volume(phase="Released")], mounted=NAME, unpublished="pvc-u3")
    assert [type(step) for step in found] == [Provision, Release, Sweep]


def test_what_was_begun_for_a_claim_that_is_gone_is_swept() -> None:
    assert steps([], [], unpublished=NAME) == [Sweep(NAME)]


def test_what_was_begun_for_a_claim_that_is_there_is_finished() -> None:
    assert steps([claim()], [], unpublished=NAME) == [Provision(NAME, claim(), STORAGE_CLASS, GIB)]


def test_a_published_volume_is_never_swept() -> None:
    assert steps([], [], mounted=NAME) == []
    assert steps([], [volume(policy="Retain", phase="Released")], mounted=NAME, unpublished=NAME) == []


def test_a_finished_resize_clears_its_conditions_and_no_others() -> None:
    wish = bound()
    wish["status"]["conditions"] = [{"type": "Resizing"}, {"type": "FileSystemResizePending"}, {"type": "Other"}]
    assert remaining_conditions(wish) == [{"type": "Other"}]


def test_the_same_failure_is_the_same_event() -> None:
    first = warning(claim(), "ProvisioningFailed", "no space", "2026-01-01T00:00:00Z")
    again = warning(claim(), "ProvisioningFailed", "no space", "2026-01-02T00:00:00Z")
    other = warning(claim(), "ProvisioningFailed", "no loop device", "2026-01-02T00:00:00Z")
    assert first["metadata"] == again["metadata"] != other["metadata"]


QUANTITIES = {
    "0": 0,
    "128974848": 128974848,
    "1Gi": GIB,
    "1.5Gi": GIB * 3 // 2,
    "500M": 500_000_000,
    "1e9": 1_000_000_000,
    "1E": 10**18,
    "2k": 2000,
    "1500m": 2,
    ".5Ki": 512,
    "3Ei": 3 << 60,
}


@pytest.mark.parametrize(("text", "size"), QUANTITIES.items())
def test_a_quantity_is_read_in_bytes(text: str, size: int) -> None:
    assert parse_quantity(text) == size


@pytest.mark.parametrize("text", ["", "Gi", "1GiB", "1 Gi", "1ki", "1i", "one"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(("size", "text"), [(GIB, "1Gi"), (GIB + (1 << 20), "1025Mi"), (1000, "1000"), (0, "0")])
def test_a_size_is_written_exactly_and_short(size: int, text: str) -> None:
    assert render_quantity(size) == text
    assert parse_quantity(text) == size


@pytest.mark.parametrize(("requested", "capacity"), [(1, SMALLEST), (GIB, GIB), (GIB + 1, GIB + (1 << 20))])
def test_a_volume_is_at_least_as_large_as_asked(requested: int, capacity: int) -> None:
    assert capacity_for(requested) == capacity


def test_mounts_are_read_with_their_devices() -> None:
    line = r"36 35 7:0 / /srv/a\040b/mnt rw,relatime shared:1 - xfs /dev/loop0 rw,attr2"
    (found,) = parse_mounts(line)
    assert (found.device, found.point) == ("/dev/loop0", "/srv/a b/mnt")


def test_a_removed_backing_file_keeps_its_name() -> None:
    listing = '{"loopdevices": [{"name": "/dev/loop0", "back-file": "/v/disk.img (deleted)"}]}'
    assert parse_backing_files(listing) == {"/dev/loop0": "/v/disk.img"}
    assert parse_backing_files("") == {}


def test_delays_double_up_to_a_limit() -> None:
    assert [delay_s(failures, 1.0) for failures in (1, 2, 3, 4, 99)] == [0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_failed_key_waits_and_others_do_not() -> None:
    backoff = Backoff()
    delay = backoff.failed("a", now=100.0)
    assert not backoff.is_ready("a", now=100.0)
    assert backoff.is_ready("b", now=100.0)
    assert backoff.is_ready("a", now=100.0 + delay)
    assert backoff.next_s(100.0, otherwise=9.0) == pytest.approx(delay)


def test_a_key_that_nobody_wants_any_more_wakes_nobody() -> None:
    backoff = Backoff()
    backoff.failed("a", now=100.0)
    backoff.keep_only({"b"})
    assert backoff.next_s(200.0, otherwise=9.0) == 9.0
