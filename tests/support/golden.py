"""Golden files: output that a person has reviewed once and that must not change by itself.

`UPDATE_GOLDEN=1 pytest tests/golden` writes the files anew; review the diff as you would review code.
"""

import os
from pathlib import Path


def assert_matches_golden(path: Path, actual: str) -> None:
    """Compare `actual` with the file at `path`, byte for byte."""
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(actual.encode())
        return
    assert path.exists(), f"{path} does not exist; write it by UPDATE_GOLDEN=1 and review it"
    expected = path.read_bytes().decode()
    assert actual == expected, (
        f"{path.name} has changed; if that is wanted, run with UPDATE_GOLDEN=1 and review the diff"
    )
