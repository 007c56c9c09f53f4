"""The operator is killed between any two writes: the next one ends in the same state as one that was left alone."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.layout import Layout
from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.engine_proxy import Moment, Request
from tests.e2e.objects import everything_in
from tests.e2e.operator_program import Killer, OperatorProgram, without_deployed_operator
from tests.e2e.steady_writer import steady_writes
from tests.e2e.valkeys import Shop, valkey

# No machine has it: objects are made, and no pod runs.
NOWHERE = {"nodeSelector": {"nowhere": "yes"}}
QUIET_S = 1.5
CONVERGED_WITHIN_S = 60


@pytest.fixture(scope="module", autouse=True)
def alone(cluster: Cluster) -> Iterator[None]:
    with without_deployed_operator(cluster):
        yield


@pytest.fixture
def operator(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[OperatorProgram]:
    with OperatorProgram(cluster, namespace, tmp_path).served() as program:
        program.start()
        yield program


class Case:
    """One sort of change, done to one Valkey after the other in one namespace."""

    def __init__(self, cluster: Cluster, namespace: str, operator: OperatorProgram) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.operator = operator

    def apply(self, name: str, **spec: Any) -> None:
        self.cluster.apply(valkey(name, **(NOWHERE | spec)), namespace=self.namespace)

    def patch(self, name: str, **spec: Any) -> None:
        body = json.dumps({"spec": spec})
        place = f"--namespace={self.namespace}"
        self.cluster.kubectl("patch", "valkey", name, place, "--type=merge", f"--patch={body}")

    def delete(self, name: str) -> None:
        self.cluster.kubectl("delete", "valkey", name, f"--namespace={self.namespace}")

    def objects(self, name: str) -> dict[str, Manifest]:
        """All of one Valkey, with X in the place of its name."""
        found = everything_in(self.cluster, self.namespace)
        text = {key.replace(name, "X"): json.loads(json.dumps(each).replace(name, "X")) for key, each in found.items()}
        return {key: each for key, each in text.items() if key.split("/")[1].split("-")[0] == "X"}

    def wait_until_quiet(self, name: str) -> dict[str, Manifest]:
        """The objects, once nothing was written for a while."""

        def quiet() -> dict[str, Manifest] | None:
            before = len([each for each in self.operator.requests if each.is_write])
            time.sleep(QUIET_S)
            after = len([each for each in self.operator.requests if each.is_write])
            known = self.cluster.get("valkey", name, self.namespace)
            seen = known.get("status", {}).get("observedGeneration") == known["metadata"]["generation"]
            return self.objects(name) if seen and before == after else None

        return self.cluster.wait_for("the operator to be at rest", quiet, self.namespace)

    def wait_for_objects(self, name: str, wanted: dict[str, Manifest], what: str) -> None:
        found: dict[str, Manifest] = {}

        def same() -> bool | None:
            nonlocal found
            found = self.objects(name)
            return True if found == wanted else None

        try:
            self.cluster.wait_for("the same objects", same, self.namespace, deadline_s=CONVERGED_WITHIN_S)
        except AssertionError as failure:
            raise AssertionError(f"{what}:\n{differences(wanted, found)}\n{failure}") from None

    def password(self, name: str) -> str | None:
        """None where there is none yet."""
        found = self.cluster.try_kubectl(
            "get", "secret", f"{name}-auth", f"--namespace={self.namespace}", "--output=json"
        )
        return str(json.loads(found.stdout)["data"]["password"]) if found.returncode == 0 else None


def differences(wanted: dict[str, Manifest], found: dict[str, Manifest]) -> str:
    lines = [f"missing: {key}" for key in wanted.keys() - found.keys()]
    lines += [f"too many: {key}" for key in found.keys() - wanted.keys()]
    changed = [key for key in wanted.keys() & found.keys() if wanted[key] != found[key]]
    return "\n".join([*lines, *(f"{key}\n  wanted {wanted[key]}\n  found {found[key]}" for key in changed)])


Step = Callable[[Case, str], None]


def prepare_nothing(_case: Case, _name: str) -> None:
    pass


def prepare_two(case: Case, name: str) -> None:
    case.apply(name, replicas=2)
    case.wait_until_quiet(name)


def prepare_volumes(case: Case, name: str) -> None:
    """A Valkey was there, and has left its volumes."""
    prepare_two(case, name)
    case.delete(name)

    def gone() -> bool | None:
        return True if all("PersistentVolumeClaim" in key for key in case.objects(name)) else None

    case.cluster.wait_for("all but the volumes to go", gone, case.namespace)


def create(case: Case, name: str) -> None:
    case.apply(name, replicas=2)


def suspend(case: Case, name: str) -> None:
    case.patch(name, replicas=0)


CHANGES: dict[str, tuple[Step, Step]] = {
    "create": (prepare_nothing, create),
    "suspend": (prepare_two, suspend),
    "recreate": (prepare_volumes, create),
}


def interrupt(case: Case, prepare: Step, change: Step, *, name: str, at: tuple[int, Moment]) -> Killer:
    """Do the change while the operator is to be killed at a write; then another one goes on."""
    prepare(case, name)
    killer = case.operator.kill_at(name, *at)
    change(case, name)
    return killer


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("what", "moments"),
    [
        ("create", [Moment.AFTER]),
        pytest.param("create", [Moment.BEFORE], marks=pytest.mark.full),
        pytest.param("suspend", list(Moment), marks=pytest.mark.full),
        pytest.param("recreate", list(Moment), marks=pytest.mark.full),
    ],
    ids=["create-after", "create-before", "suspend", "recreate"],
)
def test_killed_at_any_write_the_next_operator_ends_in_the_same_state(
    cluster: Cluster, namespace: str, operator: OperatorProgram, *, what: str, moments: list[Moment]
) -> None:
    case = Case(cluster, namespace, operator)
    prepare, change = CHANGES[what]
    interrupt(case, prepare, change, name="calm", at=(10**6, Moment.BEFORE))
    wanted = case.wait_until_quiet("calm")
    case.delete("calm")
    for moment in moments:
        for number in itertools.count(1):
            name = f"{moment.value}{number}"
            killer = interrupt(case, prepare, change, name=name, at=(number, moment))
            if not killer.struck.wait(8):
                assert number > 3, f"only {killer.writes} was written"
                break
            known = case.password(name)
            operator.start_anew()
            case.wait_for_objects(name, wanted, f"killed {moment.value} write {number} of {killer.writes}")
            assert known in (None, case.password(name)), "a password that was written is never another one"
            case.delete(name)


@pytest.fixture
def leader(shop: Shop, layout: Layout, tmp_path: Path) -> Iterator[OperatorProgram]:
    """An operator that agents can reach."""
    with OperatorProgram(shop.cluster, shop.namespace, tmp_path, address=layout.host_ip).served() as program:
        program.start()
        yield program


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("moment", list(Moment))
def test_killed_at_any_write_of_a_scale_in_the_next_operator_ends_it(
    shop: Shop, leader: OperatorProgram, moment: Moment
) -> None:
    case = Case(shop.cluster, shop.namespace, leader)
    shop.apply(valkey(replicas=2))
    shop.wait_for_state("Ready")
    shop.scale(1)
    shop.wait_for_state("Ready")
    wanted = case.wait_until_quiet("cart")
    for number in itertools.count(1):
        shop.scale(2)
        shop.wait_for_state("Ready")
        killer = leader.kill_at("cart", number, moment)
        shop.scale(1)
        if not killer.struck.wait(15):
            assert number > 3, f"only {killer.writes} was written"
            return
        leader.start_anew()
        case.wait_for_objects("cart", wanted, f"killed {moment.value} write {number} of {killer.writes}")
        assert shop.wait_for_state("Ready")["primary"] == "cart-0"


def begins(request: Request) -> bool:
    return request.method == "PUT" and "operation" in json.loads(request.body)["spec"]


def ends(request: Request) -> bool:
    record = json.loads(request.body)["spec"] if request.method == "PUT" else {}
    return record.get("primary") == "cart-1" and "operation" not in record


POINTS = [
    pytest.param(begins, Moment.AFTER, id="nothing was ordered yet", marks=pytest.mark.full),
    pytest.param(ends, Moment.BEFORE, id="the primary is parked, and that is not on record"),
    pytest.param(ends, Moment.AFTER, id="the new primary is on record, and does not know it", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("point", "moment"), POINTS)
def test_killed_amid_a_switchover_the_next_operator_ends_it_and_no_acknowledged_write_is_lost(
    shop: Shop, leader: OperatorProgram, *, point: Callable[[Request], bool], moment: Moment
) -> None:
    shop.apply(valkey(replicas=2))
    assert shop.wait_for_state("Ready")["primary"] == "cart-0"
    with steady_writes(shop):
        killer = leader.kill_at("cart", 1, moment, point)
        shop.patch("cart", {"labels": {"round": "two"}})
        assert killer.struck.wait(120), f"no switchover among {killer.writes}; {shop.status()}"
        leader.start_anew()
        shop.wait_for_state("Ready", deadline_s=180)
    assert shop.get("valkeyshard", "cart")["spec"].get("operation") is None
