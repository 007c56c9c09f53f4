"""What is told of settings that servers took."""

from valkey_operator.controllers.live_settings import WantedSettings, changed, not_as_asked
from valkey_operator.core.render.directives import Origin


def wanted(settings: dict[str, str], written: dict[str, str] | None = None) -> WantedSettings:
    return WantedSettings(
        settings=settings,
        written=written or {},
        origin_of=lambda name: Origin(f"spec.config.{name}", settings[name]),
    )


def test_what_came_changed_or_went_is_named() -> None:
    before = {"hz": "10", "timeout": "5", "save": ""}
    assert changed(wanted({"hz": "20", "save": "", "maxmemory": "1gb"}, before)) == ["hz", "maxmemory", "timeout"]


def test_a_value_that_the_server_writes_its_own_way_is_no_news() -> None:
    asked = wanted({"maxmemory": "1gb", "hz": "20"})
    assert not_as_asked(asked, {"maxmemory": str(1 << 30), "hz": "20"}) == []


def test_a_value_that_the_server_made_something_else_of_is_told() -> None:
    assert not_as_asked(wanted({"hz": "1000"}), {"hz": "500"}) == ["hz"]


def test_what_was_not_read_back_is_not_judged() -> None:
    assert not_as_asked(wanted({"hz": "20"}), {}) == []
