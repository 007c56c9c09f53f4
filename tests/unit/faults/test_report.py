"""What is told of many runs: the latest of each kind, in a table and a picture."""

from typing import Any
from xml.etree import ElementTree as Xml

from faults.bars import BARS, CLUSTER_BARS
from faults.catalogue import CLUSTER_NAMES, VALKEY_NAMES
from faults.plot import CLUSTER_WAYS, WAYS, render_plot
from faults.report import put, render_bars, render_broken, render_cluster_table, render_table
from faults.results import gap_ms, latest, percentile, seeds


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


def cluster_run(kind: str = "cluster-roll", seed: int = 1, **fields: Any) -> dict[str, Any]:
    gaps = {"shard-0": 20.0, "shard-0-wait": 25.0, "shard-1": 90.0, "shard-1-wait": 70.0}
    usual = {"durability": "Available", "gap_ms": gaps, "longest_overlap_ms": 0.0, "settled_s": 30.0}
    return {**run(kind, seed), **usual, **fields}


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
    lines = render_bars([*runs, run("switchover", 30, gap_ms=2000.0, durability="Available")], BARS).splitlines()
    assert "| `switchover`, by pods | 30 ms | 150 ms | 30 | 30 ms | 1.0 s | **no** |" in lines
    assert "| `switchover`, by Service |  | 1.3 s | 30 | 60 ms | 2.0 s | **no** |" in lines
    assert "| `switchover`, by pods | 30 ms | 150 ms | 29 | 30 ms | 30 ms | yes so far |" in render_bars(runs, BARS)
    assert "| `roll`, by Service |  | 1.3 s | 0 |  |  | not yet known |" in lines


def test_runs_that_broke_a_promise_are_told_with_their_seed() -> None:
    runs = [run(), run("drain", 9, broken=["3 acknowledged writes are lost"])]
    text = render_broken(runs, VALKEY_NAMES)
    assert text.splitlines()[2:] == ["| `drain` | 9 | Quorum | 3 acknowledged writes are lost |"]
    assert len(render_broken(runs, CLUSTER_NAMES).splitlines()) == 2


def test_the_gap_of_a_cluster_is_that_of_its_worst_shard() -> None:
    assert [gap_ms(cluster_run(), way) for way in CLUSTER_WAYS] == [90.0, 70.0]
    assert [gap_ms(run(), way) for way in WAYS] == [30.0, 15.0]


def test_clusters_have_a_table_of_their_own() -> None:
    late = cluster_run("cluster-node-cut", strays=3, longest_overlap_ms=40.0, settled_s=12.0, untrue_s=0.5)
    lines = render_cluster_table([run(), cluster_run(), late]).splitlines()
    assert lines[2:] == [
        "| `cluster-node-cut` | 1 | 90 ms / 90 ms / 90 ms | 70 ms / 70 ms / 70 ms | 0 | 0 | 3 in 1 runs | 40 ms "
        "| 12.0 s / 12.0 s | 1 of 1 runs |",
        "| `cluster-roll` | 1 | 90 ms / 90 ms / 90 ms | 70 ms / 70 ms / 70 ms | 0 | 0 | 0 | never "
        "| 30.0 s / 30.0 s | 0 of 1 runs |",
    ]
    assert len(render_table([run(), cluster_run()]).splitlines()) == 3


def test_a_bar_of_a_cluster_is_for_any_shard_or_for_the_time_until_it_is_whole() -> None:
    runs = [cluster_run(), cluster_run("cluster-force-delete-all", settled_s=11.0)]
    lines = render_bars(runs, CLUSTER_BARS).splitlines()
    assert "| `cluster-roll`, any shard |  | 200 ms | 1 | 90 ms | 90 ms | yes so far |" in lines
    assert "| `cluster-force-delete-all`, whole again |  | 10.0 s | 1 | 11.0 s | 11.0 s | **no** so far |" in lines


def test_a_table_is_put_between_its_own_marks() -> None:
    text = "<!-- faults: bars -->\nold\n<!-- end -->\n<!-- faults: cluster bars -->\nold\n<!-- end -->\n"
    found = put("new\n", text, "cluster bars")
    assert found == "<!-- faults: bars -->\nold\n<!-- end -->\n<!-- faults: cluster bars -->\nnew\n<!-- end -->\n"


def test_the_picture_is_xml_with_two_dots_for_each_run() -> None:
    picture = Xml.fromstring(render_plot({"roll": [run(), run(gap_ms=2000.0)], "drain": []}, WAYS))  # noqa: S314 - our own
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 4
    assert len({circle.get("cx") for circle in circles}) == 4
