"""The table of docs/reliability.md, from the results. Pure but for reading and writing those two."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from faults.bars import BARS, Bar
from faults.catalogue import NAMES
from faults.plot import render_plot
from faults.results import DURABILITIES, TOLD, Run, latest, load, percentile
from testbed.layout import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "reliability.md"
PLOT = REPOSITORY / "docs" / "reliability.svg"
FIGURES = re.compile(r"(?<=<!-- faults: figures -->\n).*?(?=<!-- end -->)", re.DOTALL)
AGAINST_BARS = re.compile(r"(?<=<!-- faults: bars -->\n).*?(?=<!-- end -->)", re.DOTALL)
BROKEN = re.compile(r"(?<=<!-- faults: broken -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = (
    "fault",
    "durability",
    "runs",
    "gap by Service p50 / p99 / max",
    "gap by pods p50 / p99 / max",
    "lost plain",
    "lost after `WAIT`",
    "old primary's late acks",
    "not whole again, or status untrue",
)


def render_table(runs: Sequence[Run]) -> str:
    rows = [row(kind, durability, told) for kind, durability, told in each_told(runs)]
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def each_told(runs: Sequence[Run]) -> Iterator[tuple[str, str, list[Run]]]:
    """The runs of every kind and durability, where there are any."""
    for kind, durability in product(NAMES, DURABILITIES):
        if told := latest(runs, kind, durability):
            yield kind, durability, told


def row(kind: str, durability: str, runs: Sequence[Run]) -> list[str]:
    return [
        f"`{kind}`",
        durability,
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


def render_bars(runs: Sequence[Run]) -> str:
    head = ("bar", "median", "max", "runs", "median measured", "max measured", "met")
    rows = [bar_row(bar, latest(runs, bar.kind, DURABILITIES[0])) for bar in BARS]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def bar_row(bar: Bar, runs: Sequence[Run]) -> list[str]:
    name = f"`{bar.kind}`, by {'Service' if bar.way == 'service' else 'pods'}"
    limits = [seconds(limit) if limit else "" for limit in (bar.median_ms, bar.max_ms)]
    if not runs:
        return [name, *limits, "0", "", "", "not yet known"]
    gaps = [run["gap_ms"][bar.way] for run in runs]
    measured = [percentile(gaps, percent) for percent in (50, 100)]
    met = "yes" if bar.is_met(*measured) else "**no**"
    return [name, *limits, str(len(runs)), *map(seconds, measured), met if len(runs) >= TOLD else f"{met} so far"]


def losses(runs: Sequence[Run], class_: str) -> str:
    known = [run["lost"][class_] for run in runs if run["lost"] is not None]
    unknown = len(runs) - len(known)
    return in_runs(known) + (f", {unknown} unknown" if unknown else "")


def in_runs(counts: Sequence[int]) -> str:
    return f"{sum(counts)} in {sum(count > 0 for count in counts)} runs" if any(counts) else "0"


def render_broken(runs: Sequence[Run]) -> str:
    """Which runs broke which promise, so that they can be had again."""
    told = [run for _, _, of_kind in each_told(runs) for run in of_kind if run["broken"]]
    lines = [f"| `{run['kind']}` | {run['seed']} | {run['durability']} | {'; '.join(run['broken'])} |" for run in told]
    return "\n".join(["| fault | seed | durability | broken |", "| --- | --- | --- | --- |", *lines, ""])


def write_report() -> None:
    runs = load()
    text = DOCUMENT.read_text()
    text = FIGURES.sub(lambda _: render_table(runs), text, count=1)
    text = AGAINST_BARS.sub(lambda _: render_bars(runs), text, count=1)
    DOCUMENT.write_text(BROKEN.sub(lambda _: render_broken(runs), text, count=1))
    PLOT.write_text(render_plot({kind: latest(runs, kind, DURABILITIES[0]) for kind in NAMES}))
