"""Orders and writes of a leader that another one has followed, one at a time, in the model of a cluster."""

import pytest

from tests.sim.cluster_api import Api, NotWritten
from tests.sim.cluster_chaos import pass_time
from tests.sim.cluster_leader import Leader, Sight
from tests.sim.cluster_leave import Licence
from tests.sim.cluster_operator import Operator
from tests.sim.cluster_world import World
from valkey_operator.core.cluster.facts import FailoverKind
from valkey_operator.core.cluster.steps import Bind, Failover, Reason, Remember, Step
from valkey_operator.valkey.info import Role

HAND_OVER = Failover(node="c-0-1", kind=FailoverKind.PLANNED)


class Stage:
    """A cluster at rest, whose leader was replaced; `sight` is what the former one had seen."""

    def __init__(self) -> None:
        self.world = World(1)
        self.operator = Operator(self.world)
        for _ in range(20):
            pass_time(self.world)
            self.operator.look()
        self.former, self.sight = self.leader, self.leader.look()
        self.operator.leader = None
        self.operator.look()

    @property
    def leader(self) -> Leader:
        assert self.operator.leader is not None
        return self.operator.leader

    @property
    def has_handed_over(self) -> bool:
        server = self.world.nodes["c-0-1"].running
        assert server is not None
        return server.own.role is Role.PRIMARY

    def remember(self, leader: Leader, sight: Sight) -> None:
        leader.carry_out(Remember(record=sight.seen.record, reason=Reason.HANDOVER, message="the same again"), sight)

    def let_the_new_one_order(self) -> None:
        terms = self.world.nodes["c-0-1"].licence.terms
        assert terms is not None
        step: Step = Bind(node="c-0-1", terms=terms)
        self.leader.carry_out(step, self.leader.look())


def test_an_order_that_comes_late_is_obeyed_while_its_node_has_heard_of_no_later_leader() -> None:
    stage = Stage()
    stage.former.carry_out(HAND_OVER, stage.sight)
    assert stage.has_handed_over


@pytest.mark.parametrize("obeys_any_term", [False, True], ids=["the rule", "without it"])
def test_an_order_of_an_older_term_is_refused(obeys_any_term: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.let_the_new_one_order()
    monkeypatch.setattr(Licence, "obeys_any_term", obeys_any_term)
    stage.former.carry_out(HAND_OVER, stage.sight)
    assert stage.has_handed_over is obeys_any_term


def test_an_order_for_a_pod_of_before_is_refused() -> None:
    stage = Stage()
    stage.world.nodes["c-0-1"].replace_pod()
    stage.former.carry_out(HAND_OVER, stage.sight)
    assert not stage.has_handed_over


def test_the_record_is_written_only_over_the_version_that_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.remember(stage.leader, stage.leader.look())
    with pytest.raises(NotWritten):
        stage.remember(stage.former, stage.sight)
    monkeypatch.setattr(Api, "writes_over_anything", True)
    stage.remember(stage.former, stage.sight)


def test_a_cache_that_lags_is_never_behind_what_its_leader_has_written() -> None:
    stage = Stage()
    stage.leader.read(late=True)
    behind = stage.leader.cache.version
    stage.leader.read(late=False)
    stage.remember(stage.leader, stage.leader.look())
    stage.leader.read(late=True)
    assert behind < stage.leader.cache.version == stage.world.api.now.version
