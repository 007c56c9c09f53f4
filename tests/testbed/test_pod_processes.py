from typing import Any

from testbed.faults.pod_processes import parse_pod


def status(name: str, container_id: str, state: str = "running") -> dict[str, Any]:
    return {"name": name, "containerID": f"containerd://{container_id}", "state": {state: {}}}


def pod(containers: list[dict[str, Any]], sidecars: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": "1-2-3"},
        "spec": {"containers": [{"name": "valkey"}, {"name": "exporter"}]},
        "status": {"containerStatuses": containers, "initContainerStatuses": sidecars},
    }


def test_a_pods_running_containers_are_known_by_name_sidecars_among_them() -> None:
    found = parse_pod(pod([status("valkey", "aa")], [status("agent", "bb")]))

    assert found.containers == {"agent": "bb", "valkey": "aa"}
    assert found.default_container == "valkey"


def test_a_container_that_does_not_run_is_left_out() -> None:
    found = parse_pod(pod([status("valkey", "aa", "waiting")], [status("setup", "bb", "terminated")]))

    assert found.containers == {}
