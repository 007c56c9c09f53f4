"""What is told of many runs: the latest of each kind, in a table and a picture."""

from typing import Any
from xml.etree import ElementTree as Xml

from faults.plot import render_plot
from faults.report import render_bars, render_broken, render_table
from faults.results import latest, percentile, seeds


def run(kind: str = "roll", seed: int = 1, gap_ms: float = 30.0, **fields: Any) -> dict[str, Any]:
    usual = {
        "kind": kind,
        "seed": seed,
        "durability": "Quorum",
        "gap_ms": {"service": gap_ms, "pods": gap_ms / 2},
        "lost": {"plain": 0, "confirmed": 0},
        "strays": 0,
        "status": "",
        "untrue_s": 0.0,
        "broken": [],
    }
    return {**usual, **fields}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(1, 31)]
    assert [percentile(values, percent) for percent in (50, 99, 100)] == [15.0, 30.0, 30.0]
    assert percentile([7.0], 50) == 7.0


def test_the_latest_thirty_are_told_and_a_run_that_failed_only_counts_as_tried() -> None:
    runs = [run(seed=seed) for seed in range(1, 41)] + [{"kind": "roll", "seed": 41, "failed": "no API server"}]
    assert [each["seed"] for each in latest(runs, "roll", "Quorum")] == list(range(11, 41))
    assert {kind: len(found) for kind, found in seeds(runs, ["drain", "roll"]).items()} == {"drain": 0, "roll": 41}


def test_the_table_has_a_row_for_each_kind_that_was_run() -> None:
    lossy = run("node-cut", gap_ms=12_345.0, lost={"plain": 4, "confirmed": 0}, strays=2, status="Ready, and is not")
    lines = render_table([run(), lossy, run("node-cut", lost=None)]).splitlines()
    assert lines[2] == (
        "| `roll` | Quorum | 1 | 30 ms / 30 ms / 30 ms | 15 ms / 15 ms / 15 ms | 0 | 0 | 0 | 0 of 1 runs |"
    )
    assert lines[3] == (
        "| `node-cut` | Quorum | 2 | 30 ms / 12.3 s / 12.3 s | 15 ms / 6.2 s / 6.2 s "
        "| 4 in 1 runs, 1 unknown | 0, 1 unknown | 2 in 1 runs | 1 of 2 runs |"
    )


def test_a_bar_is_met_or_not_by_the_median_and_the_longest_gap_of_the_default_durability() -> None:
    runs = [run("switchover", seed, gap_ms=60.0, durability="Available") for seed in range(29)]
    lines = render_bars([*runs, run("switchover", 30, gap_ms=2000.0, durability="Available")]).splitlines()
    assert "| `switchover`, by pods | 30 ms | 150 ms | 30 | 30 ms | 1.0 s | **no** |" in lines
    assert "| `switchover`, by Service |  | 1.3 s | 30 | 60 ms | 2.0 s | **no** |" in lines
    assert "| `switchover`, by pods | 30 ms | 150 ms | 29 | 30 ms | 30 ms | yes so far |" in render_bars(runs)
    assert "| `roll`, by Service |  | 1.3 s | 0 |  |  | not yet known |" in lines


def test_runs_that_broke_a_promise_are_told_with_their_seed() -> None:
    text = render_broken([run(), run("drain", 9, broken=["3 acknowledged writes are lost"])])
    assert text.splitlines()[2:] == ["| `drain` | 9 | Quorum | 3 acknowledged writes are lost |"]


def test_the_picture_is_xml_with_two_dots_for_each_run() -> None:
    picture = Xml.fromstring(render_plot({"roll": [run(), run(gap_ms=2000.0)], "drain": []}))  # noqa: S314 - our own
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 4
    assert len({circle.get("cx") for circle in circles}) == 4
