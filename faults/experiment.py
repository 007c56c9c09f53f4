"""One run: clients at work, faults staged and healed by their plan, and how it stood in the end."""

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from faults.catalogue import KINDS, promise_of
from faults.crowd import Crowd
from faults.figures import End, Staged, figures
from faults.ground import Ground
from faults.kinds import Kind
from faults.leader import have_all_operators
from faults.problems import NotThereError, first_line
from faults.promises import Figures
from faults.schedule import Plan, Planned
from testbed.errors import TestbedError

UNDER_WAY_WITHIN_S = 30.0
UNDER_WAY = 20
# A status is believed if it stays so.
STEADY_S = 3.0
# Looking takes a core for a moment, which a change of primary that was just begun should have.
LOOK_AFTER_S = 1.0
HEAL_TRIES = 5
READ_TRIES = 3
LONGEST_S = 900.0


@dataclass
class Happening:
    """A fault on its way: planned, staged, healed."""

    planned: Planned
    kind: Kind
    since_s: float = 0.0
    until_s: float = 0.0
    what: str = "never staged"
    was_staged: bool = False
    needs_healing: bool = False

    def stage(self) -> None:
        self.since_s, self.needs_healing = time.time(), True
        try:
            self.what, self.was_staged = self.kind.stage(), True
        except (NotThereError, TestbedError, AssertionError, OSError) as problem:
            self.what = f"{self.planned.kind} not staged: {first_line(problem)[:200]}"
        self.until_s = time.time()

    def heal(self) -> None:
        """With a few tries: what others broke at the same time may be in the way."""
        for tries_left in reversed(range(HEAL_TRIES)):
            try:
                self.kind.heal()
                break
            except (NotThereError, TestbedError, AssertionError):
                if not tries_left:
                    raise
                time.sleep(2)
        self.until_s, self.needs_healing = time.time(), False

    def staged(self) -> Staged:
        return Staged(self.planned.kind, self.what, self.since_s, self.until_s)


def run(ground: Ground, plan: Plan, *, meanwhile: Callable[[Crowd], None] = lambda _: None) -> Figures:
    """Carry out a plan on a Valkey that is whole, and emptied first; `meanwhile` is done after the last healing."""
    have_all_operators(ground)
    ground.empty()
    happenings = [
        Happening(each, KINDS[each.kind](ground.for_fault(each.variant), each.variant)) for each in plan.faults
    ]
    for each in happenings:
        each.kind.prepare()
    crowd = Crowd(ground, f"{plan.kind}-{plan.seed}-{time.time_ns()}", longest_s=LONGEST_S)
    with crowd.at_work():
        wait_until(lambda: min(crowd.accepted().values()) >= UNDER_WAY, UNDER_WAY_WITHIN_S)
        carry_out(happenings)
        if happenings and not any(each.was_staged for each in happenings):
            raise NotThereError("; ".join(each.what for each in happenings))
        meanwhile(crowd)
        settled_s, problem = settle(ground, crowd)
    history = crowd.history()
    end = End(settled_s, problem, read_back(crowd))
    staged = [each.staged() for each in happenings]
    return figures(plan, promise_of(plan.kind), history, staged=staged, end=end)


def carry_out(happenings: Sequence[Happening]) -> None:
    """Every fault at its time; each is healed when it has lasted since then, however late it came."""
    begun_s = time.time()
    due = [(begun_s + each.planned.at_s, index) for index, each in enumerate(happenings)]
    heapq.heapify(due)
    try:
        while due:
            at_s, index = heapq.heappop(due)
            time.sleep(max(0.0, at_s - time.time()))
            each = happenings[index]
            if each.needs_healing:
                each.heal()
            else:
                each.stage()
                heapq.heappush(due, (each.until_s + each.planned.lasts_s, index))
    finally:
        for each in happenings:
            if each.needs_healing:
                each.heal()


def settle(ground: Ground, crowd: Crowd) -> tuple[float, str]:
    """How long until the Valkey was whole, stayed so, let every writer through and told the truth, or what was not."""
    begun_s, before = time.time(), crowd.accepted()
    whole_since_s, problem = None, ""
    time.sleep(LOOK_AFTER_S)
    while (now_s := time.time()) < begun_s + ground.settled_within_s:
        problem = ground.not_settled() or silence(crowd, before)
        whole_since_s = None if problem else whole_since_s or now_s
        if whole_since_s and now_s > whole_since_s + STEADY_S:
            problem = ground.untruth()
            if not problem:
                return whole_since_s - begun_s, ""
            whole_since_s = None
        time.sleep(0.3)
    return time.time() - begun_s, f"not whole after {ground.settled_within_s:.0f} s: {problem}"


def silence(crowd: Crowd, before: Mapping[str, int]) -> str:
    silent = [name for name, count in crowd.accepted().items() if count == before[name]]
    return f"no write of {', '.join(silent)} is taken" if silent else ""


def read_back(crowd: Crowd) -> dict[str, list[int]] | None:
    """As any client, it tries again where its connection is closed."""
    for _ in range(READ_TRIES):
        try:
            return crowd.read_back()
        except (OSError, TimeoutError) as problem:
            print(f"the Valkey could not be read: {first_line(problem)}", flush=True)
            time.sleep(1)
    return None


def wait_until(holds: Callable[[], bool], deadline_s: float) -> None:
    end_s = time.time() + deadline_s
    while not holds():
        if time.time() > end_s:
            raise TimeoutError(f"clients were not under way within {deadline_s} s")
        time.sleep(0.1)
