"""CLUSTER NODES and nodes.conf of real servers, captured once, and what the operator reads in them.

Captured from Debian's valkey-server 8.0.1, 8.1.1 and 9.1.2: three primaries and three replicas on one machine, named
c-0 to c-5 by `cluster-announce-hostname`. tests/valkey asks live servers the same.
"""

from pathlib import Path

import pytest

from tests.support.golden import assert_matches_golden
from valkey_operator.valkey.cluster_nodes import NodeLine, NodesView, parse_cluster_info, parse_nodes
from valkey_operator.valkey.slots import SLOT_COUNT

FOLDER = Path(__file__).parent / "cluster"
VERSIONS = ("8.0", "8.1", "9.1")
SITUATIONS = sorted({path.stem.split("-", 2)[2] for path in FOLDER.glob("valkey-*.txt")} - {"info"})


def captured(version: str, situation: str) -> str:
    return (FOLDER / f"valkey-{version}-{situation}.txt").read_bytes().decode()


def reading(view: NodesView) -> str:
    """One line per node, with hostnames for ids, which are others in each capture."""
    names = {line.id: line.hostname or "nobody" for line in view.lines}
    return "".join(sorted(f"  {told(line, names)}\n" for line in view.lines))


def told(line: NodeLine, names: dict[str, str]) -> str:
    words = [
        names[line.id],
        "itself" if line.myself else "",
        str(line.role),
        f"of {names[line.primary]}" if line.primary else "",
        "somewhere" if line.address else "nowhere",
        f"epoch {line.epoch}",
        f"failing: {line.failing}",
        "connected" if line.connected else "not connected",
        f"slots {line.slots}" if line.slots else "",
        *(f"{'takes' if each.importing else 'gives'} {each.slot}: {names[each.peer]}" for each in line.open_slots),
    ]
    return ", ".join(word for word in words if word)


def test_captured_replies_are_read_as_reviewed() -> None:
    readings = [f"{situation}\n{reading(parse_nodes(captured(VERSIONS[-1], situation)))}" for situation in SITUATIONS]
    assert_matches_golden(FOLDER / "readings.txt", "\n".join(readings))


@pytest.mark.parametrize("version", VERSIONS[:-1])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_version_says_the_same_of_the_same_situation(version: str, situation: str) -> None:
    ours = reading(parse_nodes(captured(version, situation)))
    assert ours == reading(parse_nodes(captured(VERSIONS[-1], situation)))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_summary_of_a_formed_cluster_is_read(version: str) -> None:
    info = parse_cluster_info(captured(version, "info"))
    assert (info.serves, info.slots_assigned, info.known_nodes, info.size) == (True, SLOT_COUNT, 6, 3)
    assert (info.current_epoch, info.my_epoch) == (6, 1)
