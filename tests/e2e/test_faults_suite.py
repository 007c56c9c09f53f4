"""A part of the fault suite: what is promised holds in a few kinds of faults, and its checks find what they are for."""

import json
import time

import pytest

from faults.catalogue import plan_of
from faults.crowd import Crowd
from faults.experiment import run
from faults.ground import Ground
from faults.places import apply, ground_on
from faults.promises import Figures
from faults.schedule import Plan
from faults.settings import Setting
from testbed.layout import Layout
from tests.e2e.valkeys import Shop

pytestmark = pytest.mark.node_faults

NOTHING = Plan("roll", 1, "Quorum", ())
TAKEN = 5


@pytest.fixture
def ground(shop: Shop, layout: Layout) -> Ground:
    apply(shop, Setting.VALKEY, "Quorum")
    return ground_on(shop, layout)


def told(found: Figures) -> str:
    return json.dumps({name: getattr(found, name) for name in found.__struct_fields__}, indent=1)


@pytest.mark.parametrize("kind", ["kill-primary", "delete-pod", "roll"])
def test_what_is_promised_holds(ground: Ground, kind: str) -> None:
    found = run(ground, plan_of(kind, 1))

    assert found.broken == [], told(found)
    assert found.primary_changes >= 1, told(found)
    assert found.primaries_at_once == 1, told(found)
    assert min(found.acknowledged.values()) > 0, told(found)


def test_acknowledged_writes_that_vanish_behind_a_writers_back_are_found_lost(ground: Ground) -> None:
    def take_away(crowd: Crowd) -> None:
        [plain] = [log for log in crowd.history().writers if log.name == "service"]
        ground.shop.say(ground.primary(), "LPOP", crowd.key(plain), str(TAKEN))

    found = run(ground, NOTHING, meanwhile=take_away)

    assert found.lost == {"plain": TAKEN, "confirmed": 0}, told(found)
    assert found.broken == [f"{TAKEN} acknowledged writes are lost"], told(found)


def test_a_second_server_that_takes_writes_is_found(ground: Ground) -> None:
    def promote_behind_everybodys_back(_: Crowd) -> None:
        replica = ground.replicas()[0]
        ground.shop.say(replica, "CONFIG", "SET", "min-replicas-to-write", "0")
        ground.shop.say(replica, "REPLICAOF", "NO", "ONE")
        time.sleep(1)

    found = run(ground, NOTHING, meanwhile=promote_behind_everybodys_back)

    assert found.primaries_at_once == 2, told(found)
    assert found.strays > 0, told(found)
