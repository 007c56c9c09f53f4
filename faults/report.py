"""The table of docs/reliability.md, from the results. Pure but for reading and writing those two."""

import re
from collections.abc import Sequence

from faults.catalogue import NAMES
from faults.plot import render_plot
from faults.results import Run, latest, load, percentile
from testbed.layout import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "reliability.md"
PLOT = REPOSITORY / "docs" / "reliability.svg"
FIGURES = re.compile(r"(?<=<!-- faults: figures -->\n).*?(?=<!-- end -->)", re.DOTALL)
BROKEN = re.compile(r"(?<=<!-- faults: broken -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = (
    "fault",
    "runs",
    "gap by Service p50 / p99 / max",
    "gap by pods p50 / p99 / max",
    "lost plain",
    "lost after `WAIT`",
    "old primary's late acks",
    "not whole again, or status untrue",
)


def render_table(runs: Sequence[Run]) -> str:
    rows = [row(kind, told) for kind in NAMES if (told := latest(runs, kind))]
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def row(kind: str, runs: Sequence[Run]) -> list[str]:
    return [
        f"`{kind}`",
        str(len(runs)),
        spread([run["gap_ms"]["service"] for run in runs]),
        spread([run["gap_ms"]["pods"] for run in runs]),
        losses(runs, "plain"),
        losses(runs, "confirmed"),
        in_runs([run["strays"] for run in runs]),
        f"{sum(bool(run['status']) or run['untrue_s'] > 0 for run in runs)} of {len(runs)} runs",
    ]


def spread(values: Sequence[float]) -> str:
    return " / ".join(seconds(percentile(values, percent)) for percent in (50, 99, 100))


def seconds(milliseconds: float) -> str:
    """Short, and as exact as the pace of the writers allows."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def losses(runs: Sequence[Run], class_: str) -> str:
    known = [run["lost"][class_] for run in runs if run["lost"] is not None]
    unknown = len(runs) - len(known)
    return in_runs(known) + (f", {unknown} unknown" if unknown else "")


def in_runs(counts: Sequence[int]) -> str:
    return f"{sum(counts)} in {sum(count > 0 for count in counts)} runs" if any(counts) else "0"


def render_broken(runs: Sequence[Run]) -> str:
    """Which runs broke which promise, so that they can be had again."""
    told = [run for kind in NAMES for run in latest(runs, kind) if run["broken"]]
    lines = [f"| `{run['kind']}` | {run['seed']} | {run['durability']} | {'; '.join(run['broken'])} |" for run in told]
    return "\n".join(["| fault | seed | durability | broken |", "| --- | --- | --- | --- |", *lines, ""])


def write_report() -> None:
    runs = load()
    text = DOCUMENT.read_text()
    text = FIGURES.sub(lambda _: render_table(runs), text, count=1)
    DOCUMENT.write_text(BROKEN.sub(lambda _: render_broken(runs), text, count=1))
    PLOT.write_text(render_plot({kind: latest(runs, kind) for kind in NAMES}))
