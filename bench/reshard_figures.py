"""What phases of moving slots, by the operator and by hand, come to. Pure.

Owns: bytes, rates, ratios, and what went wrong. Refuses to know: how anything was seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.bulk_keys import bytes_in
from bench.results_file import summary
from bench.slot_moves import LOOK_S
from valkey_operator.valkey.slots import parse_slots

BAR = 0.7
WAYS = ("grow", "shrink")
SHOWN_ERRORS = 5
Figures = dict[str, Any]


def phase_figures(told: Mapping[str, Any], writers: Sequence[Mapping[str, Any]], *, keys: int) -> Figures:
    """Of one phase: `told` by the program that looked at the slots, and by each of the writers."""
    if told["begun_s"] is None or told["ended_s"] is None:
        raise ValueError(f"no slot was seen to move: {told}")
    moved, seconds = parse_slots(told["moved"]), told["ended_s"] - told["begun_s"]
    moved_bytes = bytes_in(moved, keys)
    errors = [error for each in writers for error in each["problems"]]
    return {
        "slots": len(moved),
        "bytes": moved_bytes,
        "seconds": round(seconds, 3),
        # What was over at the next look took at most that long.
        "bytes_per_s": round(moved_bytes / max(seconds, LOOK_S)),
        "written": sum(each["written"] for each in writers),
        "lost": sum(len(each["lost"]) for each in writers),
        "errors": len(errors),
        "first_errors": errors[:SHOWN_ERRORS],
        **{name: told[name] for name in ("steps", "orders", "refusals", "ready_s") if name in told},
    }


def ratios(rounds: Sequence[Mapping[str, Figures]]) -> Figures:
    """The operator's bytes/s to those by hand, of the medians of all rounds."""
    found: Figures = {}
    for way in WAYS:
        rates = {who: summary([each[f"{who}_{way}"]["bytes_per_s"] for each in rounds]) for who in ("operator", "hand")}
        found |= {f"{who}_{way}_bytes_per_s": rate for who, rate in rates.items()}
        found[f"{way}_to_hand"] = round(rates["operator"]["median"] / rates["hand"]["median"], 2)
    return found


def totals(rounds: Sequence[Mapping[str, Figures]]) -> Figures:
    """Of the writers, in all phases."""
    phases = [phase for each in rounds for phase in each.values()]
    return {name: sum(phase[name] for phase in phases) for name in ("written", "lost", "errors")}


def complaints(figures: Mapping[str, Any]) -> list[str]:
    """What must never be: keys that are lost, wrong, or too few. Errors of clients are only told."""
    check = figures["check"]
    found = [f"{figures['lost']} acknowledged writes are lost"] if figures["lost"] else []
    found += [f"{check[name]} keys are {name}" for name in ("lost", "wrong") if check[name]]
    if check["keys"] < figures["keys"] + figures["written"]:
        found.append(f"servers count {check['keys']} keys, and {figures['keys']} + {figures['written']} were written")
    return found


def verdicts(figures: Mapping[str, Any]) -> list[str]:
    """Whether the bar is met, each way."""
    return [_verdict(f"{way}_to_hand", figures[f"{way}_to_hand"]) for way in WAYS]


def _verdict(name: str, ratio: float) -> str:
    return f"{name} is {ratio}, the bar {BAR} is {'met' if ratio >= BAR else 'MISSED'}"
