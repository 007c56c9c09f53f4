"""The generated files are what the code says today; those that Helm renders: tests/testbed/test_chart.py."""

import pytest

from tools.generate import generated_files, generated_folders
from tools.yaml_text import REPOSITORY

WANTED = generated_files()


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_generated_file_is_up_to_date(name: str) -> None:
    written = (REPOSITORY / name).read_text() if (REPOSITORY / name).exists() else None
    assert written == WANTED[name], f"{name} is stale: run `make generate` and review the diff"


def test_nothing_is_left_over_from_a_kind_that_is_gone() -> None:
    found = {str(file.relative_to(REPOSITORY)) for folder in generated_folders() for file in folder.iterdir()}
    assert found <= set(WANTED)
