"""The cluster, and a namespace of its own for each test; a failed test shows the namespace's state."""

from collections.abc import Generator, Iterator

import pytest

from testbed.layout import Layout
from tests.e2e.cluster import Cluster, cluster_under_test
from tests.e2e.valkeys import Shop, Tested, open_shop

SHOWN = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    return cluster_under_test()


@pytest.fixture(scope="session", autouse=True)
def _version(request: pytest.FixtureRequest) -> None:
    Tested.version = request.config.getoption("--valkey") or Tested.version


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    with cluster.namespace("test") as name:
        request.node.stash[SHOWN] = name
        yield name


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    """A namespace in which Pod Security is enforced, with a pod to call Valkeys from."""
    return open_shop(cluster, namespace)


@pytest.fixture
def layout(cluster: Cluster) -> Layout:
    """The machine behind the cluster, for tests that break it."""
    if cluster.testbed is None:
        pytest.skip("needs the nodes of a testbed, and KUBECONFIG names another cluster")
    return cluster.testbed


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.when == "call" and report.failed and isinstance(cluster, Cluster) and SHOWN in item.stash:
        report.sections.append(("state of the cluster", cluster.explain(item.stash[SHOWN])))
    return report
