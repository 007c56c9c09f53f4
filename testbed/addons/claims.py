"""What is to be done for the claims and volumes of the cluster: a pure decision from one picture of everything.

Steps are independent of each other and safe to repeat; each names the volume it is about. A step that becomes possible
only after another one (telling a claim its new size) is found in a later picture.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.addons.kubeapi import Json
from testbed.addons.manifests import PROVISIONED_BY, PROVISIONER, volume_name
from testbed.addons.quantity import parse_quantity

SELECTED_NODE = "volume.kubernetes.io/selected-node"
RESIZE_CONDITIONS = ("Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError")


@dataclass(frozen=True)
class Picture:
    """The cluster's objects, and the names of this machine's volumes: mounted ones, ones the cluster never saw."""

    claims: list[Json]
    volumes: list[Json]
    classes: list[Json]
    mounted: frozenset[str]
    unpublished: frozenset[str]


@dataclass(frozen=True)
class Provision:
    volume: str
    claim: Json
    storage_class: Json
    size: int


@dataclass(frozen=True)
class Refuse:
    volume: str
    claim: Json
    why: str


@dataclass(frozen=True)
class Mount:
    volume: str


@dataclass(frozen=True)
class Grow:
    volume: str
    claim: Json
    size: int


@dataclass(frozen=True)
class TellSize:
    volume: str
    claim: Json
    size: int


@dataclass(frozen=True)
class Release:
    volume: str


@dataclass(frozen=True)
class Sweep:
    volume: str


Step = Provision | Refuse | Mount | Grow | TellSize | Release | Sweep


def decide(picture: Picture) -> list[Step]:
    """All steps the picture calls for, the urgent ones first; none if everything is as wanted."""
    ours = [volume for volume in picture.volumes if _is_ours(volume)]
    claims = {claim["metadata"]["uid"]: claim for claim in picture.claims}
    steps: list[Step] = [
        *(step for volume in ours for step in _decide_volume(volume, claims, picture.mounted)),
        *(step for claim in picture.claims for step in _decide_claim(claim, picture)),
        *(Sweep(name) for name in sorted(_orphans(picture))),
    ]
    return sorted(steps, key=is_removal)


def is_removal(step: Step) -> bool:
    """Whether nobody waits for the step."""
    return isinstance(step, Release | Sweep)


def remaining_conditions(claim: Json) -> list[Json]:
    """The claim's conditions without those that a finished resize has made untrue."""
    conditions = claim.get("status", {}).get("conditions") or []
    return [condition for condition in conditions if condition["type"] not in RESIZE_CONDITIONS]


def _decide_volume(volume: Json, claims: dict[str, Json], mounted: frozenset[str]) -> Iterator[Step]:
    name = volume["metadata"]["name"]
    if _is_to_be_released(volume):
        yield Release(name)
        return
    if name not in mounted:
        yield Mount(name)
        return
    claim = claims.get((volume["spec"].get("claimRef") or {}).get("uid", ""))
    if claim is not None and claim["spec"].get("volumeName") == name:
        yield from _decide_size(volume, claim)


def _decide_size(volume: Json, claim: Json) -> Iterator[Step]:
    name, size = volume["metadata"]["name"], parse_quantity(volume["spec"]["capacity"]["storage"])
    wanted = _requested(claim)
    known = (claim.get("status", {}).get("capacity") or {}).get("storage")
    if wanted > size:
        yield Grow(name, claim, wanted)
    elif known is not None and parse_quantity(known) < size:
        yield TellSize(name, claim, size)


def _decide_claim(claim: Json, picture: Picture) -> Iterator[Step]:
    storage_class = _class_of(claim, picture.classes)
    if storage_class is None or not _is_waiting(claim, storage_class):
        return
    name = volume_name(claim)
    if name in {volume["metadata"]["name"] for volume in picture.volumes}:
        return
    why = _why_impossible(claim)
    yield Refuse(name, claim, why) if why else Provision(name, claim, storage_class, _requested(claim))


def _is_waiting(claim: Json, storage_class: Json) -> bool:
    """As the external provisioners do it: no volume yet, and the scheduler has spoken where it has a say."""
    if claim["spec"].get("volumeName") or "deletionTimestamp" in claim["metadata"]:
        return False
    if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        return SELECTED_NODE in (claim["metadata"].get("annotations") or {})
    return True


def _why_impossible(claim: Json) -> str | None:
    spec = claim["spec"]
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        return f"only volumeMode Filesystem is offered, not {spec['volumeMode']}"
    if spec.get("selector"):
        return "a claim with a selector can't have a volume made for it"
    if spec.get("dataSource") or spec.get("dataSourceRef"):
        return "volumes can't be made from a dataSource (snapshot or clone)"
    return None


def _class_of(claim: Json, classes: list[Json]) -> Json | None:
    name = claim["spec"].get("storageClassName")
    ours = (each for each in classes if each["provisioner"] == PROVISIONER)
    return next((each for each in ours if each["metadata"]["name"] == name), None)


def _is_ours(volume: Json) -> bool:
    annotations: Json = volume["metadata"].get("annotations") or {}
    return annotations.get(PROVISIONED_BY) == PROVISIONER


def _is_to_be_released(volume: Json) -> bool:
    is_released: bool = volume.get("status", {}).get("phase") == "Released"
    return is_released and bool(volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete")


def _requested(claim: Json) -> int:
    return parse_quantity(claim["spec"]["resources"]["requests"]["storage"])


def _orphans(picture: Picture) -> set[str]:
    """Volumes half made for a claim that is gone. A published one is never an orphan: its owner may have kept it."""
    known = {volume["metadata"]["name"] for volume in picture.volumes}
    return set(picture.unpublished) - known - set(map(volume_name, picture.claims))
