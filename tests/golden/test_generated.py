"""The generated files under config/ are what the code says today."""

import pytest

from tools.generate import CONFIG, generated_files


@pytest.mark.parametrize("name", sorted(generated_files()))
def test_a_generated_file_is_up_to_date(name: str) -> None:
    written = (CONFIG / name).read_text() if (CONFIG / name).exists() else None
    assert written == generated_files()[name], f"config/{name} is stale: run `make generate` and review the diff"


def test_nothing_is_left_over_from_a_kind_that_is_gone() -> None:
    folders = {name.split("/")[0] for name in generated_files()}
    found = {f"{folder}/{file.name}" for folder in folders for file in (CONFIG / folder).iterdir()}
    assert found == set(generated_files())
