"""Candidates with clocks of their own, an API server that is slow, cut or loses answers: never two leaders."""

import asyncio
import contextlib
import itertools
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim import virtual_time
from tests.support.engine import metrics
from valkey_operator.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError, UnreachableError
from valkey_operator.runtime.election import Candidate, Lease, Timing
from valkey_operator.runtime.leader import Leadership
from valkey_operator.runtime.outcome import NotLeaderError

TIMING = Timing()


class ApiServerModel:
    """Keeps one lease, swaps it by version."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self._versions = itertools.count(1)

    def write(self, lease: Lease) -> Lease:
        if not lease.version and self.lease is not None:
            raise AlreadyExistsError("there is one")
        if lease.version and self.lease is None:
            raise NotFoundError("there is none")
        if lease.version and self.lease is not None and lease.version != self.lease.version:
            raise ConflictError("stale")
        self.lease = msgspec.structs.replace(lease, version=str(next(self._versions)))
        return self.lease


class World:
    """The true time, and what stands between a candidate and the API server."""

    def __init__(self, random: Random | None = None) -> None:
        self.now = 0.0
        self.server = ApiServerModel()
        self.random = random


class Line:
    """One candidate's way to the API server."""

    def __init__(self, world: World) -> None:
        self.cut = False
        self._world = world

    def read(self) -> Lease | None:
        self._pass()
        found = self._world.server.lease
        self._pass()
        return found

    def write(self, lease: Lease) -> Lease:
        self._pass()
        written = self._world.server.write(lease)
        self._pass()
        return written

    def _pass(self) -> None:
        """Time passes on the way there and back; a message may be lost on either."""
        if self.cut:
            raise UnreachableError("cut")
        if self._world.random is not None:
            self._world.now += self._world.random.choice((0.0, 0.01, 0.5, 1.5))
            if self._world.random.random() < 0.2:
                raise UnreachableError("lost on the way")


def attempt(candidate: Candidate) -> None:
    with contextlib.suppress(ApiError):
        candidate.attempt()


def three_candidates(world: World, random: Random) -> list[Candidate]:
    """They know of the lease already; their clocks start anywhere, and run wrong by up to a percent."""

    def make(number: int) -> Candidate:
        offset, rate = random.uniform(-1e6, 1e6), random.uniform(0.99, 1.01)
        return Candidate(Line(world), f"c{number}", TIMING, lambda: offset + rate * world.now)

    candidates = [make(number) for number in range(3)]
    for each in candidates:
        each.attempt()
    world.random = random
    return candidates


def act(candidate: Candidate, random: Random) -> None:
    if random.random() < 0.03:
        with_release(candidate)
    else:
        attempt(candidate)


@given(st.integers(0, 2**32))
def test_no_two_lead_at_once_or_in_one_term_whatever_network_and_clocks_do(seed: int) -> None:
    random = Random(seed)
    world = World()
    candidates = three_candidates(world, random)
    terms: dict[int, Candidate] = {}
    for _ in range(200):
        act(random.choice(candidates), random)
        leading = [(each, each.tenure) for each in candidates if each.tenure is not None]
        assert len(leading) <= 1
        for each, tenure in leading:
            assert terms.setdefault(tenure.term, each) is each
        world.now += random.choice((0.0, 0.3, 1.0, 5.0))


@given(st.integers(0, 2**32))
def test_no_two_lead_at_once_though_somebody_deletes_the_lease(seed: int) -> None:
    random = Random(seed)
    world = World()
    candidates = three_candidates(world, random)
    deleted_at = random.randrange(100)
    for step in range(200):
        act(random.choice(candidates), random)
        if step == deleted_at:
            world.server.lease = None
        assert len([each for each in candidates if each.tenure is not None]) <= 1
        world.now += random.choice((0.0, 0.3, 1.0, 5.0))


def with_release(candidate: Candidate) -> None:
    with contextlib.suppress(ApiError):
        candidate.release()


def two(world: World) -> tuple[Candidate, Candidate, Line]:
    line = Line(world)
    first = Candidate(line, "first", TIMING, lambda: world.now)
    second = Candidate(Line(world), "second", TIMING, lambda: world.now - 1e9)
    attempt(first)
    attempt(second)
    assert (first.tenure is not None, second.tenure) == (True, None)
    return first, second, line


def takeover_s(world: World, second: Candidate) -> float:
    began = world.now
    while second.tenure is None:
        world.now += TIMING.retry_s
        attempt(second)
    return world.now - began


def test_a_leader_that_renews_leads_for_ever_in_one_term() -> None:
    world = World()
    first, second, _ = two(world)
    for _ in range(100):
        world.now += TIMING.retry_s
        attempt(first)
        attempt(second)
        assert first.tenure is not None
        assert (first.tenure.term, second.tenure) == (1, None)


def test_a_leader_that_vanished_is_replaced_after_the_duration_and_one_retry() -> None:
    world = World()
    _, second, _ = two(world)
    assert takeover_s(world, second) <= TIMING.duration_s + TIMING.retry_s
    assert second.tenure is not None
    assert second.tenure.term == 2


def test_a_leader_that_gives_up_is_replaced_at_the_next_look() -> None:
    world = World()
    first, second, _ = two(world)
    first.release()
    assert first.tenure is None
    assert takeover_s(world, second) == TIMING.retry_s


def test_a_leader_that_is_cut_off_stops_before_anybody_else_may_start() -> None:
    world = World()
    first, second, line = two(world)
    line.cut = True
    while first.tenure is not None:
        attempt(first)
        attempt(second)
        assert second.tenure is None
        world.now += 0.1
    assert world.now == pytest.approx(TIMING.renew_deadline_s, abs=0.11)
    assert world.now < TIMING.duration_s


def test_the_same_process_leads_again_in_a_new_term_after_an_outage() -> None:
    world = World()
    first, _, line = two(world)
    line.cut = True
    world.now += 60
    attempt(first)
    line.cut = False
    attempt(first)
    assert first.tenure is not None
    assert first.tenure.term == 2


def test_a_renewal_whose_answer_was_lost_does_not_cost_the_lease() -> None:
    world = World()
    first, _, _ = two(world)
    held = world.server.lease
    assert held is not None
    world.server.write(held)  # what the lost renewal did
    world.now += 1
    attempt(first)
    assert first.tenure is not None
    assert first.tenure.term == 1


def test_a_lease_that_somebody_took_by_hand_is_given_up_at_once() -> None:
    world = World()
    first, _, _ = two(world)
    held = world.server.lease
    assert held is not None
    world.server.write(msgspec.structs.replace(held, holder="somebody"))
    attempt(first)
    assert first.tenure is None


def test_a_deleted_lease_is_made_anew_by_its_leader_and_taken_by_nobody_meanwhile() -> None:
    world = World()
    first, second, _ = two(world)
    world.server.lease = None
    attempt(second)
    attempt(first)
    assert second.tenure is None
    assert first.tenure is not None
    assert first.tenure.term == 1


# --- the event loop's side ---


def led(cut_at_s: float, *, work_takes_s: float = 1000.0, for_s: float = 60.0) -> list[str]:
    """What happened when, to a leader whose line is cut for 20 s."""
    noted: list[str] = []

    async def simulate() -> None:
        loop = asyncio.get_running_loop()
        world = World()
        line = Line(world)
        candidate = Candidate(line, "me", TIMING, loop.time)
        leadership = Leadership(candidate, loop.time, metrics())

        def set_cut(cut: bool) -> None:
            line.cut = cut

        async def work(term: int) -> None:
            noted.append(f"{loop.time():.0f} starts {term}")
            try:
                await asyncio.sleep(work_takes_s)
            except asyncio.CancelledError:
                if loop.time() < for_s:
                    noted.append(f"{loop.time():.0f} cancelled {term}")
                    with pytest.raises(NotLeaderError):
                        leadership.check(term)
                raise

        async def run_for_it() -> None:
            while True:
                attempt(candidate)
                leadership.look_again()
                await asyncio.sleep(TIMING.retry_s)

        loop.call_later(cut_at_s, set_cut, True)
        loop.call_later(cut_at_s + 20, set_cut, False)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(run_for_it())
            leading = group.create_task(leadership.lead_whenever_elected(work))
            await asyncio.wait([leading], timeout=for_s)
            leading.cancel()
            running.cancel()

    virtual_time.run(simulate(), seed=1)
    return noted


def test_the_work_of_a_leader_that_is_cut_off_stops_before_the_lease_ends_and_starts_anew_in_a_new_term() -> None:
    assert led(10.5, for_s=40) == ["0 starts 1", "14 cancelled 1", "31 starts 2"]


def test_leading_ends_with_its_work() -> None:
    assert led(500.0, work_takes_s=5) == ["0 starts 1"]
