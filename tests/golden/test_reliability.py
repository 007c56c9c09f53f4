"""docs/reliability.md tells of the runs that are on file, and of no others."""

import pytest

from faults.catalogue import NAMES, promise_of
from faults.promises import Promise
from faults.report import DOCUMENT, marked, plots, tables
from faults.results import load
from tests.support.documents import code_in

WRITE = "write it anew: .venv/bin/python -m faults.run --report"


def test_the_tables_and_the_pictures_are_those_of_the_results() -> None:
    runs, text = load(), DOCUMENT.read_text()
    for name, table in tables(runs).items():
        assert marked(name).search(text)[0] == table, WRITE  # type: ignore[index]
    for path, picture in plots(runs).items():
        assert path.read_text() == picture, WRITE


def sentences_after(beginning: str) -> list[str]:
    [paragraph] = [each for each in DOCUMENT.read_text().split("\n\n") if each.startswith(beginning)]
    return " ".join(paragraph.split()).split(". ")


@pytest.mark.parametrize(
    ("beginning", "promises"),
    [
        ("Always:", [Promise.PLANNED, Promise.HARMLESS]),
        ("Of a cluster:", [Promise.CLUSTER_PLANNED, Promise.CLUSTER_UNPLANNED]),
    ],
)
def test_the_promises_are_told_of_the_kinds_they_are_made_for(beginning: str, promises: list[Promise]) -> None:
    for promise, sentence in zip(promises, sentences_after(beginning)[1:], strict=False):
        names = {name for name in code_in(sentence) if name in NAMES}
        assert names == {name for name in NAMES if promise_of(name) is promise}
