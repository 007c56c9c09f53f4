"""Replies of real servers, captured once, and what the operator reads in them.

Captured from Debian's valkey-server 8.0.1, 8.1.1 and 9.1.2 by `INFO server replication`; the lines `executable`, `os`
and `monotonic_clock` are neutral. tests/valkey asks live servers the same.
"""

from pathlib import Path

import msgspec
import pytest

from tests.support.golden import assert_matches_golden
from valkey_operator.valkey.info import parse_replication, parse_sections, parse_server

CAPTURED = sorted((Path(__file__).parent / "info").glob("*.txt"))


@pytest.mark.parametrize("captured", CAPTURED, ids=lambda path: path.stem)
def test_a_captured_reply_is_read_as_reviewed(captured: Path) -> None:
    sections = parse_sections(captured.read_bytes().decode())
    read = {"server": parse_server(sections), "replication": parse_replication(sections)}
    pretty = msgspec.json.format(msgspec.json.encode(read), indent=2).decode() + "\n"
    assert_matches_golden(captured.with_suffix(".json"), pretty)


def test_every_supported_version_was_captured_in_every_situation() -> None:
    situations = {(path.name.split("-")[1], path.stem.split("-", 2)[2]) for path in CAPTURED}
    versions = {version for version, _ in situations}
    assert versions == {"8.0", "8.1", "9.1"}
    assert len(situations) == len(versions) * len({situation for _, situation in situations})
