"""Two pods on one volume, as somebody makes them by hand while no operator runs: one server alone has the data."""

import json
import os
import re
import signal
from typing import Any

import pytest

from testbed.faults.pod_processes import find_pod, process_named
from testbed.layout import Layout
from tests.e2e.operator_program import without_deployed_operator
from tests.e2e.valkeys import Shop, valkey

pytestmark = pytest.mark.node_faults

AOF = {"aof": {"enabled": True, "fsync": "always"}}
FIRST, SECOND = "cart-0-0", "cart-0-1"


def log_of(shop: Shop, pod: str) -> str:
    """What the agent of a pod has said."""
    return shop.cluster.try_kubectl("logs", pod, f"--namespace={shop.namespace}", "--container=agent").stdout


def wait_until_it_says(shop: Shop, pod: str, *words: str) -> None:
    """One after the other."""

    def said() -> bool | None:
        return True if re.search(".*".join(map(re.escape, words)), log_of(shop, pod), re.DOTALL) else None

    shop.cluster.wait_for(f"the agent of {pod} to say {words}", said, shop.namespace)


def kill_agent(shop: Shop, layout: Layout, pod: str) -> None:
    found = process_named(find_pod(layout, f"{shop.namespace}/{pod}"), "agent", "python3")
    os.kill(found.pid, signal.SIGKILL)


def data_of(shop: Shop, pod: str) -> Any:
    """What the server of this very pod answers; None: it does not."""
    command = ("valkey-cli", "-a", shop.password(), "--no-auth-warning", "GET", "key:1")
    place = f"--namespace={shop.namespace}"
    found = shop.cluster.try_kubectl("exec", place, pod, "--container=valkey", "--", *command)
    return found.stdout.strip() if found.returncode == 0 else None


def test_a_second_pod_of_a_node_does_not_start_its_server_though_the_agent_of_the_first_falls(
    shop: Shop, layout: Layout
) -> None:
    shop.apply(valkey(persistence=AOF))
    shop.wait_for_state("Ready")
    shop.write(10)
    uid = shop.pod_of("cart-0")["metadata"]["uid"]
    has, may_return = f"pod {uid} has the data folder", f"pod {uid} may come back"
    with without_deployed_operator(shop.cluster):
        patch = json.dumps({"spec": {"replicas": 2}})
        place = f"--namespace={shop.namespace}"
        shop.cluster.kubectl("patch", "statefulset", "cart-0", place, "--type=merge", f"--patch={patch}")
        wait_until_it_says(shop, SECOND, has)
        kill_agent(shop, layout, FIRST)
        wait_until_it_says(shop, SECOND, may_return, has)
        assert "let the server in" not in log_of(shop, SECOND)
        assert (data_of(shop, FIRST), data_of(shop, SECOND)) == ("1", None)
    shop.wait_for_state("Ready")
    shop.write(20)
    assert shop.count("cart-0") == 20
    assert shop.pod_of("cart-0")["metadata"]["uid"] == uid
