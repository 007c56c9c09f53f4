"""What the kernel knows of loop devices."""

import json

from testbed.commands import output

DELETED = " (deleted)"  # the kernel's word for a backing file that was removed


def parse_backing_files(listing: str) -> dict[str, str]:
    """Backing file by loop device, from `losetup -l -J`, which says nothing at all if there is none."""
    devices = json.loads(listing)["loopdevices"] if listing.strip() else []
    return {device["name"]: device["back-file"].removesuffix(DELETED) for device in devices if device["back-file"]}


def backing_files() -> dict[str, str]:
    return parse_backing_files(output(["losetup", "-l", "-J", "-O", "NAME,BACK-FILE"]))
