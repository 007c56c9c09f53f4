from importlib import metadata

import pytest

from valkey_operator.cli.main import main


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"{metadata.version('valkey-operator')}\n"
