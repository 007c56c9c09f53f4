import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from valkey_operator.runtime.logs import configure_logs


@pytest.fixture(autouse=True)
def _logging_is_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_our_events_are_one_json_object_per_line() -> None:
    stream = io.StringIO()
    configure_logs("info", stream)
    structlog.get_logger("here").warning("it rains", reason="clouds")
    event = json.loads(stream.getvalue())
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "it rains", "reason": "clouds", "level": "warning", "logger": "here"}


def test_a_librarys_events_have_the_same_form() -> None:
    stream = io.StringIO()
    configure_logs("info", stream)
    logging.getLogger("library").error("no %s", "luck")
    event = json.loads(stream.getvalue())
    assert (event["event"], event["level"], event["logger"]) == ("no luck", "error", "library")


def test_events_below_the_level_are_dropped() -> None:
    stream = io.StringIO()
    configure_logs("warning", stream)
    structlog.get_logger("here").info("nothing")
    assert stream.getvalue() == ""


def test_a_traceback_stays_on_its_line() -> None:
    stream = io.StringIO()
    configure_logs("info", stream)
    try:
        raise ValueError("wrong")
    except ValueError:
        structlog.get_logger("here").exception("failed")
    assert json.loads(stream.getvalue())["exception"][0]["exc_value"] == "wrong"
