"""`python -m bench.slot_moves CLUSTER [--shards=N]`: see slots move, or move them by hand. Run inside of the network.

Without `--shards` it says a line once it looks, and goes on until standard input ends. With it, it moves slots itself
until each of N shards has its share: the same moves as the operator's, all of them ordered at once, with one CLUSTER
MIGRATESLOTS at each shard that gives; what is left once nothing moves any more is ordered again. Says one JSON object
in the end: `begun_s`, when slots were first on their way, `ended_s`, when the last one had another owner, and which
have one.
"""

import argparse
import json
import select
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import valkey

from bench.cluster_servers import PORT, Owned, Primaries, ask, moved_between, owned_in, shards_in
from valkey_operator.core.cluster.slots import Move, moves_to
from valkey_operator.valkey.cluster_nodes import NodesView
from valkey_operator.valkey.slots import NO_SLOTS, Slots

LOOK_S = 0.05
ENDED_WITHIN_S = 600.0
# A server that has given a slot may hear of it later than the one that has taken it.
AGAIN_S = 1.0


class Timeline:
    """What was seen, from the first look on."""

    def __init__(self, before: Owned, now_s: float) -> None:
        self._before = before
        self._since = now_s
        self.moved: Slots = NO_SLOTS
        self.begun_s: float | None = None
        self.steps: list[tuple[float, int]] = []

    def note(self, owned: Owned, now_s: float, *, gives: bool) -> None:
        at_s = round(now_s - self._since, 3)
        moved = moved_between(self._before, owned)
        if self.begun_s is None and (gives or moved):
            self.begun_s = at_s
        if moved != self.moved:
            self.moved = moved
            self.steps.append((at_s, len(moved)))

    def told(self) -> dict[str, Any]:
        ended_s = self.steps[-1][0] if self.steps else None
        return {"begun_s": self.begun_s, "ended_s": ended_s, "moved": str(self.moved), "steps": self.steps}


class Mover:
    """Orders what is left, whenever nothing is under way."""

    def __init__(self, primaries: Primaries, cluster: str, shards: int) -> None:
        self._primaries = primaries
        self._cluster = cluster
        self._shards = shards
        self._rests_since: float | None = None
        self.orders = 0
        self.refusals: list[str] = []

    def step(self, view: NodesView, now_s: float, *, gives: bool) -> bool:
        """Whether something is left to do; it is ordered if nothing was under way for a while, and at once at first."""
        lines = shards_in(view, self._cluster)
        if missing := sorted(set(range(self._shards)) - lines.keys()):
            raise LookupError(f"shards {missing} of {self._cluster} have no primary: {view}")
        moves = moves_to({shard: line.slots for shard, line in lines.items()}, self._shards)
        if gives:
            self._rests_since = None
        elif moves and self._may_order(now_s):
            self._order(moves, {shard: line.id for shard, line in lines.items()})
        return gives or bool(moves)

    def _may_order(self, now_s: float) -> bool:
        if not self.orders:
            return True
        self._rests_since = self._rests_since or now_s
        return now_s - self._rests_since >= AGAIN_S

    def _order(self, moves: Sequence[Move], ids: Mapping[int, str]) -> None:
        self._rests_since = None
        self.orders += 1
        for source in sorted({move.source for move in moves}):
            words = order_words([move for move in moves if move.source == source], ids)
            try:
                ask(self._primaries[ids[source]], "MIGRATESLOTS", *words)
            except valkey.ResponseError as refusal:
                self.refusals.append(f"shard {source}: {refusal}")


def order_words(moves: Sequence[Move], ids: Mapping[int, str]) -> list[str | int]:
    """What follows CLUSTER MIGRATESLOTS at the shard that gives."""
    words: list[str | int] = []
    for move in moves:
        bounds = [bound for ends in move.slots.ranges() for bound in ends]
        words += ["SLOTSRANGE", *bounds, "NODE", ids[move.target]]
    return words


def look_until_told(primaries: Primaries, timeline: Timeline) -> dict[str, Any]:
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        gives = primaries.give()
        timeline.note(owned_in(primaries.look()), time.monotonic(), gives=gives)
    return timeline.told()


def move_all(primaries: Primaries, timeline: Timeline, mover: Mover) -> dict[str, Any]:
    deadline = time.monotonic() + ENDED_WITHIN_S
    is_busy = True
    while is_busy:
        gives, view, now_s = primaries.give(), primaries.look(), time.monotonic()
        timeline.note(owned_in(view), now_s, gives=gives)
        is_busy = mover.step(view, now_s, gives=gives)
        if now_s > deadline:
            raise TimeoutError(f"slots still move after {ENDED_WITHIN_S} s: {timeline.told()}, {mover.refusals}")
        time.sleep(LOOK_S if is_busy else 0)
    return {**timeline.told(), "orders": mover.orders, "refusals": mover.refusals}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cluster", help="its name, and that of its Service")
    parser.add_argument("--host", help="of any of its servers (default: the Service)")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--shards", type=int, help="how many shall have slots; none: only look")
    args = parser.parse_args()
    primaries = Primaries(args.host or args.cluster, args.port)
    timeline = Timeline(owned_in(primaries.look()), time.monotonic())
    if args.shards is None:
        say("under way")
        say(json.dumps(look_until_told(primaries, timeline)))
    else:
        say(json.dumps(move_all(primaries, timeline, Mover(primaries, args.cluster, args.shards))))


if __name__ == "__main__":
    main()
