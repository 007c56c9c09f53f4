"""Where figures go: one file per benchmark, every run kept, with what it was measured on."""

import json
import os
import platform
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def append(name: str, figures: dict[str, Any]) -> Path:
    """Add one run to bench/results/<name>.json."""
    runs, path = load(name), _path(name)
    runs.append({"at": datetime.now(UTC).isoformat(timespec="seconds"), "ground": ground(), **figures})
    path.write_text(json.dumps(runs, indent=1) + "\n")
    return path


def load(name: str) -> list[dict[str, Any]]:
    """All runs that were kept."""
    path = _path(name)
    return list(json.loads(path.read_text())) if path.exists() else []


def _path(name: str) -> Path:
    return FOLDER / f"{name}.json"


def ground() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, text=True, capture_output=True).stdout
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory_gib = round(pages / 2**30)
    return {"commit": commit.strip(), "cores": os.cpu_count(), "memory_gib": memory_gib, "kernel": platform.release()}


def summary(values: list[float]) -> dict[str, Any]:
    """Median and extremes of some measurements, with all of them."""
    rounded = [round(value, 3) for value in values]
    return {"median": statistics.median(rounded), "min": min(rounded), "max": max(rounded), "all": rounded}
