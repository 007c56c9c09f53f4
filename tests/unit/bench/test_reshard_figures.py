"""What phases of moving slots come to, and what of it must not be."""

from typing import Any

import pytest

from bench.bulk_keys import bytes_in
from bench.reshard_figures import complaints, phase_figures, ratios, totals, verdicts
from valkey_operator.valkey.slots import parse_slots

KEYS = 2000


def told(seconds: float = 2.0, **fields: Any) -> dict[str, Any]:
    return {"begun_s": 1.0, "ended_s": 1.0 + seconds, "moved": "0-8191", "steps": [], **fields}


def writer(**fields: Any) -> dict[str, Any]:
    return {"written": 100, "lost": [], "problems": [], **fields}


def of_phase(rate: int, **fields: int) -> dict[str, Any]:
    return {"bytes_per_s": rate, "written": 10, "lost": 0, "errors": 0, **fields}


def of_round(operator: int, hand: int = 100) -> dict[str, Any]:
    rates = {"operator_grow": operator, "hand_grow": hand, "operator_shrink": operator, "hand_shrink": hand}
    return {name: of_phase(rate) for name, rate in rates.items()}


def of_all(**fields: Any) -> dict[str, Any]:
    good = {"keys": 50, "written": 10, "lost": 0, "check": {"keys": 60, "lost": 0, "wrong": 0}}
    return {**good, "grow_to_hand": 0.8, "shrink_to_hand": 0.7, **fields}


def test_a_phase_tells_bytes_of_slots_that_moved_and_what_clients_saw() -> None:
    writers = [writer(), writer(lost=[7], problems=["ConnectionError: closed"])]
    figures = phase_figures(told(ready_s=9.0), writers, keys=KEYS)
    moved = bytes_in(parse_slots("0-8191"), KEYS)
    assert (figures["slots"], figures["bytes"], figures["bytes_per_s"]) == (8192, moved, round(moved / 2))
    assert (figures["written"], figures["lost"], figures["errors"], figures["ready_s"]) == (200, 1, 1, 9.0)


def test_a_phase_in_which_nothing_moved_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="no slot was seen to move"):
        phase_figures(told(begun_s=None, ended_s=None, moved=""), [], keys=KEYS)


def test_the_ratio_is_that_of_the_medians_of_all_rounds() -> None:
    found = ratios([of_round(90), of_round(80), of_round(10)])
    assert (found["grow_to_hand"], found["shrink_to_hand"]) == (0.8, 0.8)
    assert totals([of_round(90), of_round(80)])["written"] == 80


def test_nothing_is_complained_of_where_every_key_is_there() -> None:
    assert complaints(of_all()) == []


def test_the_bar_is_met_or_missed_each_way() -> None:
    grow, shrink = verdicts(of_all(grow_to_hand=0.69))
    assert grow == "grow_to_hand is 0.69, the bar 0.7 is MISSED"
    assert shrink == "shrink_to_hand is 0.7, the bar 0.7 is met"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lost": 2}, "2 acknowledged writes are lost"),
        ({"check": {"keys": 60, "lost": 0, "wrong": 3}}, "3 keys are wrong"),
        ({"check": {"keys": 60, "lost": 1, "wrong": 0}}, "1 keys are lost"),
        ({"check": {"keys": 59, "lost": 0, "wrong": 0}}, "servers count 59 keys, and 50 + 10 were written"),
    ],
)
def test_what_must_not_be_is_said(fields: dict[str, Any], said: str) -> None:
    assert complaints(of_all(**fields)) == [said]
