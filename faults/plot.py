"""The windows without writes as a picture: a row for each kind, a dot for each run, on a logarithmic scale. Pure."""

import math
from collections.abc import Mapping, Sequence

from faults.results import Run, gap_ms

LEFT, WIDTH, ROW, TOP = 240, 640, 22, 30
SHORTEST_MS, LONGEST_MS = 5.0, 300_000.0
TICKS = {10: "10 ms", 100: "100 ms", 1000: "1 s", 10_000: "10 s", 100_000: "100 s"}
COLOURS = ("#c2410c", "#1d4ed8")
HEIGHTS = (0.3, 0.7)
Ways = Mapping[str, str]
"""Two ways to a primary, and what they are called."""
WAYS: Ways = {"service": "by the Service", "pods": "by the pods"}
CLUSTER_WAYS: Ways = {"shard": "any shard", "shard-wait": "with WAIT"}


def across(milliseconds: float) -> float:
    clamped = min(max(milliseconds, SHORTEST_MS), LONGEST_MS)
    return LEFT + WIDTH * math.log(clamped / SHORTEST_MS) / math.log(LONGEST_MS / SHORTEST_MS)


def text(x: float, y: float, words: str, *, anchor: str = "middle", colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def render_plot(runs: Mapping[str, Sequence[Run]], ways: Ways) -> str:
    shown = {kind: told for kind, told in runs.items() if told}
    bottom = TOP + ROW * len(shown)
    parts = [axis(milliseconds, words, bottom) for milliseconds, words in TICKS.items()]
    parts += [render_row(kind, told, ways, TOP + ROW * index) for index, (kind, told) in enumerate(shown.items())]
    parts += [
        text(LEFT + 120 * index, 14, words, anchor="start", colour=COLOURS[index])
        for index, words in enumerate(ways.values())
    ]
    size = f'width="{LEFT + WIDTH + 20}" height="{bottom + 30}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def axis(milliseconds: float, words: str, bottom: float) -> str:
    x = across(milliseconds)
    line = f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#ddd"/>'
    return line + text(x, bottom + 16, words)


def render_row(kind: str, runs: Sequence[Run], ways: Ways, y: float) -> str:
    name = text(LEFT - 10, y + ROW * 0.65, f"{kind} ({len(runs)})", anchor="end")
    looks = zip(ways, COLOURS, HEIGHTS, strict=True)
    return name + "".join(
        dots([gap_ms(run, way) for run in runs], colour, y + ROW * height) for way, colour, height in looks
    )


def dots(gaps_ms: Sequence[float], colour: str, y: float) -> str:
    places = map(across, gaps_ms)
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity="0.45"/>' for x in places)
