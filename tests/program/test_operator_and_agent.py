"""Two operators and an agent, all as processes: the agent's report arrives at the one that leads."""

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.agent_program import Ground
from tests.support.agents import NODE
from tests.support.certificates import write_tls
from tests.support.object_server import Objects, api_server
from tests.support.operator_program import Operator, running_operator
from tests.support.ports import free_port
from valkey_operator.pki.authority import KeyPair, make_key, make_leaf
from valkey_operator.runtime.holder import address_in

NAMESPACE = "valkey-operator-system"
SECRET_PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets/valkey-operator-ca"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/valkey-operator"


def certify(agent: Ground, objects: Objects) -> None:
    data = {name: base64.b64decode(value) for name, value in objects.by_path[SECRET_PATH]["data"].items()}
    root = KeyPair(data["tls.crt"], data["tls.key"])
    leaf = make_leaf(make_key(), root, NODE, now=datetime.now(UTC))
    write_tls(agent.tls.folder, leaf, root.certificate)


def leads(operator: Operator) -> Callable[[], bool]:
    return lambda: any(line["event"] == "this process leads" for line in operator.logged())


def answered(operator: Operator, code: int) -> bool:
    return f'valkey_operator_reports_total{{code="{code}"}} 1.0' in operator.ask("/metrics")[1]


async def report(agent: Ground, told: Operator, leader: Operator) -> None:
    async with agent.running(operator=told.report_address):
        await agent.wait_for("report at the leader", lambda: answered(leader, 200))


@pytest.mark.timeout(60)
def test_the_lease_names_where_the_leader_takes_reports_and_a_standby_says_so(tmp_path: Path) -> None:
    api_port = free_port()
    with api_server(api_port) as objects, running_operator(tmp_path, api_port, "leader") as leader:
        leader.wait_for("leadership", leads(leader))
        holder = objects.by_path[LEASE_PATH]["spec"]["holderIdentity"]
        assert address_in(holder) == leader.report_address
        with running_operator(tmp_path, api_port, "standby") as standby:
            standby.wait_for("readiness", lambda: standby.ask("/readyz")[0] == 200)
            agent = Ground(tmp_path)
            certify(agent, objects)
            asyncio.run(report(agent, standby, leader))
            assert answered(standby, 421)
