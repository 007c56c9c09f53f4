"""The tables of docs/reliability.md, from the results. Pure but for reading and writing those two."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from faults.bars import BARS, CLUSTER_BARS, SETTLED, Bar
from faults.catalogue import CLUSTER_NAMES, VALKEY_NAMES
from faults.plot import CLUSTER_WAYS, WAYS, render_plot
from faults.results import DURABILITIES, TOLD, Run, gap_ms, latest, load, percentile
from testbed.layout import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "reliability.md"
PLOT = REPOSITORY / "docs" / "reliability.svg"
CLUSTER_PLOT = REPOSITORY / "docs" / "reliability-cluster.svg"
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
CLUSTER_HEAD = (
    "fault",
    "runs",
    "gap of a shard p50 / p99 / max",
    "with `WAIT` p50 / p99 / max",
    "lost plain",
    "lost after `WAIT`",
    "old primary's late acks",
    "longest with two",
    "whole again p50 / max",
    "not whole again, or status untrue",
)
BY = {
    "service": "by Service",
    "pods": "by pods",
    "shard": "any shard",
    SETTLED: "whole again",
}


def tables(runs: Sequence[Run]) -> dict[str, str]:
    """What stands between the marks of these names."""
    return {
        "bars": render_bars(runs, BARS),
        "figures": render_table(runs),
        "broken": render_broken(runs, VALKEY_NAMES),
        "cluster bars": render_bars(runs, CLUSTER_BARS),
        "cluster figures": render_cluster_table(runs),
        "cluster broken": render_broken(runs, CLUSTER_NAMES),
    }


def plots(runs: Sequence[Run]) -> dict[Path, str]:
    shown = ((PLOT, VALKEY_NAMES, WAYS), (CLUSTER_PLOT, CLUSTER_NAMES, CLUSTER_WAYS))
    return {
        path: render_plot({kind: latest(runs, kind, DURABILITIES[0]) for kind in names}, ways)
        for path, names, ways in shown
    }


def marked(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- faults: {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)


def put(table: str, text: str, name: str) -> str:
    return marked(name).sub(lambda _: table, text, count=1)


def render(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def render_table(runs: Sequence[Run]) -> str:
    told = each_told(runs, VALKEY_NAMES)
    return render(HEAD, [row(kind, durability, of_kind) for kind, durability, of_kind in told])


def render_cluster_table(runs: Sequence[Run]) -> str:
    """Their durability is always the default."""
    told = each_told(runs, CLUSTER_NAMES)
    return render(CLUSTER_HEAD, [cluster_row(kind, of_kind) for kind, _, of_kind in told])


def each_told(runs: Sequence[Run], names: Sequence[str]) -> Iterator[tuple[str, str, list[Run]]]:
    """The runs of each of these kinds and durabilities, where there are any."""
    for kind, durability in product(names, DURABILITIES):
        if told := latest(runs, kind, durability):
            yield kind, durability, told


def row(kind: str, durability: str, runs: Sequence[Run]) -> list[str]:
    gaps = [spread([gap_ms(run, way) for run in runs]) for way in ("service", "pods")]
    return [f"`{kind}`", durability, str(len(runs)), *gaps, *counts(runs), unwell(runs)]


def cluster_row(kind: str, runs: Sequence[Run]) -> list[str]:
    gaps = [spread([gap_ms(run, way) for run in runs]) for way in ("shard", "shard-wait")]
    longest = max(run["longest_overlap_ms"] for run in runs)
    settled = [run["settled_s"] * 1000 for run in runs]
    whole = " / ".join(seconds(percentile(settled, percent)) for percent in (50, 100))
    return [
        f"`{kind}`",
        str(len(runs)),
        *gaps,
        *counts(runs),
        seconds(longest) if longest else "never",
        whole,
        unwell(runs),
    ]


def counts(runs: Sequence[Run]) -> list[str]:
    return [losses(runs, "plain"), losses(runs, "confirmed"), in_runs([run["strays"] for run in runs])]


def unwell(runs: Sequence[Run]) -> str:
    return f"{sum(bool(run['status']) or run['untrue_s'] > 0 for run in runs)} of {len(runs)} runs"


def spread(values: Sequence[float]) -> str:
    return " / ".join(seconds(percentile(values, percent)) for percent in (50, 99, 100))


def seconds(milliseconds: float) -> str:
    """Short, and as exact as the pace of the writers allows."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def render_bars(runs: Sequence[Run], bars: Sequence[Bar]) -> str:
    head = ("bar", "median", "max", "runs", "median measured", "max measured", "met")
    return render(head, [bar_row(bar, latest(runs, bar.kind, DURABILITIES[0])) for bar in bars])


def bar_row(bar: Bar, runs: Sequence[Run]) -> list[str]:
    name = f"`{bar.kind}`, {BY[bar.way]}"
    limits = [seconds(limit) if limit else "" for limit in (bar.median_ms, bar.max_ms)]
    if not runs:
        return [name, *limits, "0", "", "", "not yet known"]
    values = [run["settled_s"] * 1000 if bar.way == SETTLED else gap_ms(run, bar.way) for run in runs]
    measured = [percentile(values, percent) for percent in (50, 100)]
    met = "yes" if bar.is_met(*measured) else "**no**"
    return [name, *limits, str(len(runs)), *map(seconds, measured), met if len(runs) >= TOLD else f"{met} so far"]


def losses(runs: Sequence[Run], class_: str) -> str:
    known = [run["lost"][class_] for run in runs if run["lost"] is not None]
    unknown = len(runs) - len(known)
    return in_runs(known) + (f", {unknown} unknown" if unknown else "")


def in_runs(counts: Sequence[int]) -> str:
    return f"{sum(counts)} in {sum(count > 0 for count in counts)} runs" if any(counts) else "0"


def render_broken(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Which runs broke which promise, so that they can be had again."""
    told = [run for _, _, of_kind in each_told(runs, names) for run in of_kind if run["broken"]]
    rows = [[f"`{run['kind']}`", str(run["seed"]), run["durability"], "; ".join(run["broken"])] for run in told]
    return render(("fault", "seed", "durability", "broken"), rows)


def write_report() -> None:
    runs, text = load(), DOCUMENT.read_text()
    for name, table in tables(runs).items():
        text = put(table, text, name)
    DOCUMENT.write_text(text)
    for path, picture in plots(runs).items():
        path.write_text(picture)
