"""docs/reliability.md tells of the runs that are on file, and of no others."""

from faults.catalogue import KINDS, NAMES
from faults.plot import render_plot
from faults.promises import Promise
from faults.report import AGAINST_BARS, BROKEN, DOCUMENT, FIGURES, PLOT, render_bars, render_broken, render_table
from faults.results import DURABILITIES, latest, load
from tests.support.documents import code_in

WRITE = "write it anew: .venv/bin/python -m faults.run --report"


def test_the_tables_and_the_picture_are_those_of_the_results() -> None:
    runs, text = load(), DOCUMENT.read_text()
    assert FIGURES.search(text)[0] == render_table(runs), WRITE  # type: ignore[index]
    assert AGAINST_BARS.search(text)[0] == render_bars(runs), WRITE  # type: ignore[index]
    assert BROKEN.search(text)[0] == render_broken(runs), WRITE  # type: ignore[index]
    told = {kind: latest(runs, kind, DURABILITIES[0]) for kind in NAMES}
    assert PLOT.read_text() == render_plot(told), WRITE


def test_the_promises_are_told_of_the_kinds_they_are_made_for() -> None:
    [paragraph] = [each for each in DOCUMENT.read_text().split("\n\n") if each.startswith("Always:")]
    sentences = paragraph.split(". ")
    for promise, sentence in ((Promise.PLANNED, sentences[1]), (Promise.HARMLESS, sentences[2])):
        assert {name for name in code_in(sentence) if name in KINDS} == {
            name for name, kind in KINDS.items() if kind.promise is promise
        }
