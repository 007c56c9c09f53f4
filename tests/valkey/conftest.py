"""Which versions a run covers: the newest for every test, and all of them for a smoke test or with --valkey=all."""

import pytest

from testbed.images.catalogue import VALKEY_VERSIONS
from tests.valkey.servers import NEWEST


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "version" not in metafunc.fixturenames:
        return
    smoke = metafunc.definition.get_closest_marker("every_version") is not None
    chosen = metafunc.config.getoption("--valkey")
    default = VALKEY_VERSIONS if smoke else (NEWEST,)
    metafunc.parametrize("version", default if chosen is None else [chosen])
