"""What every test layer has in common: its marker, its deadline, and whether it may touch the network.

A layer is a folder under tests/; a test in a folder that is not listed here is an error.
"""

import socket
from pathlib import Path
from typing import NamedTuple, NoReturn

import hypothesis
import pytest

# A layer's deadline judges slowness; hypothesis' own 200 ms per example would judge the load of the machine.
hypothesis.settings.register_profile("ours", deadline=None, print_blob=True)
hypothesis.settings.load_profile("ours")

TESTS = Path(__file__).parent


class Layer(NamedTuple):
    """`deadline_s` holds for each single test, unless it sets its own by `@pytest.mark.timeout`."""

    deadline_s: int
    may_use_network: bool


LAYERS = {
    "unit": Layer(5, may_use_network=False),
    "property": Layer(60, may_use_network=False),
    "golden": Layer(10, may_use_network=False),
    "sim": Layer(60, may_use_network=False),
    "program": Layer(30, may_use_network=True),
    "testbed": Layer(60, may_use_network=True),
    "valkey": Layer(120, may_use_network=True),
    "e2e": Layer(600, may_use_network=True),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--valkey", metavar="VERSION", help="run on this version alone, such as 8.1: tests/valkey and tests/e2e"
    )
    parser.addoption("--full", action="store_true", help="also run what is marked `full`, as `make test-all` does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("full") and not config.getoption("--full"):
            item.add_marker(pytest.mark.skip("takes long; --full runs it"))
        name = layer_of(item.path)
        item.add_marker(name)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LAYERS[name].deadline_s))


@pytest.fixture(autouse=True)
def _no_network_below_the_real_layers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if LAYERS[layer_of(request.path)].may_use_network:
        return
    # Not the class itself: asyncio needs a socket pair for its own wake-ups.
    for method in ("connect", "connect_ex", "bind", "sendto", "sendmsg"):
        monkeypatch.setattr(socket.socket, method, refuse_network)
    monkeypatch.setattr(socket, "getaddrinfo", refuse_network)


def layer_of(path: Path) -> str:
    name = path.relative_to(TESTS).parts[0]
    if name not in LAYERS:
        raise pytest.UsageError(f"{path} is in no test layer; move it to one of: {', '.join(LAYERS)}")
    return name


def refuse_network(*_args: object, **_kwargs: object) -> NoReturn:
    raise AssertionError("this test layer may not use the network; use a fake transport, or move the test")
