"""What a testbed remembers about itself between commands: its slot and how many nodes it has."""

import ipaddress
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.commands import output
from testbed.errors import TestbedError
from testbed.layout import MAX_SLOTS, NAME_PATTERN, STATE_ROOT, Layout


@dataclass(frozen=True)
class Record:
    slot: int
    nodes: int


def path_of(name: str) -> Path:
    return STATE_ROOT / name / "testbed.json"


def check_name(name: str) -> str:
    if not NAME_PATTERN.fullmatch(name):
        raise TestbedError(f"--name {name!r}: use 1 to 20 lower-case letters, digits and dashes, a letter first")
    return name


def load(name: str) -> Record | None:
    """The record of a testbed, or None where there is none."""
    try:
        return Record(**json.loads(path_of(check_name(name)).read_text()))
    except FileNotFoundError:
        return None


def save(name: str, record: Record) -> None:
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(asdict(record)))
    draft.rename(path)


def require(name: str) -> tuple[Layout, Record]:
    record = load(name)
    if record is None:
        raise TestbedError(f"no testbed {name!r} here: bring one up with `bin/testbed --name {name} up`")
    return Layout(name, record.slot), record


def names() -> list[str]:
    return sorted(path.parent.name for path in STATE_ROOT.glob("*/testbed.json"))


def free_slot(name: str) -> int:
    """The lowest slot that no other testbed has and whose addresses this machine does not use already."""
    taken = {record.slot for record in map(load, names()) if record}
    used = routed_ranges()
    for slot in range(MAX_SLOTS):
        ranges = Layout(name, slot).ranges
        if slot not in taken and not any(mine.overlaps(theirs) for mine in ranges for theirs in used):
            return slot
    raise TestbedError(f"all {MAX_SLOTS} address slots are in use on this machine: take a testbed down first")


def routed_ranges() -> list[ipaddress.IPv4Network]:
    routes = json.loads(output(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
    destinations = [route["dst"] for route in routes if route["dst"] != "default"]
    return [ipaddress.IPv4Network(dst, strict=False) for dst in destinations]
