"""`make test-all`: every layer, and the server tests on every Valkey version. Resumes, and keeps its results.

A cell that passed on the same tree is not run again. Results: .results/test-all/<tree>/<cell>.json, logs beside them.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from testbed.images.catalogue import VALKEY_VERSIONS
from testbed.layout import REPOSITORY

RESULTS = REPOSITORY / ".results" / "test-all"
ABOUT_SERVERS = "test_valkey_*.py"
PYTEST = [sys.executable, "-m", "pytest", "--quiet"]


@dataclass(frozen=True)
class Cell:
    name: str
    arguments: tuple[str, ...]


def cells() -> list[Cell]:
    plain = ("unit", "property", "golden", "sim", "program", "testbed", "e2e")
    layers = [Cell(layer, (f"tests/{layer}", "--full")) for layer in plain]
    servers = [Cell(f"valkey-{version}", ("tests/valkey", f"--valkey={version}")) for version in VALKEY_VERSIONS]
    about_servers = sorted(str(file.relative_to(REPOSITORY)) for file in (REPOSITORY / "tests/e2e").glob(ABOUT_SERVERS))
    # The newest is what the plain layer runs on.
    older = [Cell(f"e2e-{version}", (*about_servers, f"--valkey={version}")) for version in VALKEY_VERSIONS[:-1]]
    return [*layers, *servers, *older]


def tree() -> str:
    """A name for exactly these sources, changes that are not committed included."""
    stashed = git("stash", "create") or "HEAD"
    return git("rev-parse", "--short=12", f"{stashed}^{{tree}}")


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], check=True, cwd=REPOSITORY, text=True, capture_output=True)
    return done.stdout.strip()


def run(cell: Cell, folder: Path) -> bool:
    """Run one cell, unless it passed before; whether it passed."""
    result = folder / f"{cell.name}.json"
    if result.exists() and json.loads(result.read_text())["passed"]:
        print(f"{cell.name}: passed before")
        return True
    print(f"{cell.name}: running …", flush=True)
    begun = time.monotonic()
    with (folder / f"{cell.name}.log").open("w") as log:
        done = subprocess.run([*PYTEST, *cell.arguments], check=False, cwd=REPOSITORY, stdout=log, stderr=log)
    passed = done.returncode == 0
    seconds = round(time.monotonic() - begun, 1)
    result.write_text(json.dumps({"passed": passed, "seconds": seconds, "arguments": cell.arguments}))
    print(f"{cell.name}: {'passed' if passed else f'FAILED, see {log.name}'} ({seconds} s)", flush=True)
    return passed


def main() -> int:
    folder = RESULTS / tree()
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = [run(cell, folder) for cell in cells()]
    print(f"{sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
