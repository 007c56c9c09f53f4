"""Which images are refused for the data's sake, and what is said where that cannot be known."""

import pytest

from valkey_operator.core.version_change import check_image, image_warnings, parse_image_major

DIGEST = "@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "major"),
    [
        ("valkey/valkey:9.1", 9),
        ("valkey/valkey:8.0.2", 8),
        ("valkey/valkey:9", 9),
        ("valkey/valkey:8.1-alpine", 8),
        ("valkey/valkey:v8.1.0_rc2", 8),
        ("valkey-bundle:8.1.1-trixie", 8),
        ("registry.example:5000/team/valkey:7.2.5", 7),
        (f"valkey/valkey:8.1{DIGEST}", 8),
        ("valkey/valkey", None),
        ("registry.example:5000/valkey", None),
        ("valkey/valkey:latest", None),
        ("valkey/valkey:unstable", None),
        (f"valkey/valkey{DIGEST}", None),
        ("mine/valkey:1.4.0", None),
        ("mine/valkey:8.1.0.7", None),
        ("mine/valkey:build-8.1", None),
    ],
)
def test_the_major_version_is_what_the_tag_says_and_no_guess(image: str, major: int | None) -> None:
    assert parse_image_major(image) == major


@pytest.mark.parametrize(
    ("image", "ran", "newest"),
    [
        ("valkey/valkey:8.1", ["9.1.2"], "9.1.2"),
        ("valkey/valkey:8.1", ["8.1.4", "9.1.2", None], "9.1.2"),
        ("valkey/valkey:8.0", [None, "9.0.0", "8.0.1"], "9.0.0"),
        ("valkey/valkey:9.1", ["9.1.2", "10.0.0"], "10.0.0"),
    ],
)
def test_an_image_that_cannot_read_the_files_of_any_server_is_refused(
    image: str, ran: list[str | None], newest: str
) -> None:
    [problem] = check_image(image, ran)
    assert problem.sentence().startswith(f'spec.image is "{image}": the servers run {newest},')


@pytest.mark.parametrize(
    ("image", "ran"),
    [
        ("valkey/valkey:9.1", ["8.0.6", "8.1.4"]),
        ("valkey/valkey:8.0", ["8.1.4"]),
        ("valkey/valkey:9.0", ["9.1.2"]),
        ("valkey/valkey:8.0", []),
        ("valkey/valkey:8.0", [None]),
        ("valkey/valkey:latest", ["9.1.2"]),
        (f"valkey/valkey{DIGEST}", ["9.1.2"]),
        ("mine/valkey:1.4.0", ["9.1.2"]),
    ],
)
def test_any_other_image_is_let_through(image: str, ran: list[str | None]) -> None:
    assert list(check_image(image, ran)) == []


def test_the_refusal_says_what_to_do() -> None:
    [problem] = check_image("valkey/valkey:8.1", ["9.1.2"])
    assert problem.remedy == (
        "the servers run 9.1.2, and no 8.x can read the files they write; set an image of 9.x or newer, "
        "or make another Valkey and copy the data into it"
    )


def test_another_image_without_a_version_in_its_tag_is_let_through_and_told_what_is_known() -> None:
    [problem] = image_warnings("mine/valkey:latest", ["valkey/valkey:9.1"], ["9.1.2"])
    assert "names no version" in problem.remedy
    assert "9.1.2" in problem.remedy


@pytest.mark.parametrize(
    ("image", "nodes", "ran"),
    [
        ("mine/valkey:latest", ["mine/valkey:latest"], ["9.1.2"]),
        ("mine/valkey:latest", [], ["9.1.2"]),
        ("mine/valkey:latest", ["valkey/valkey:9.1"], [None]),
        ("valkey/valkey:8.1", ["valkey/valkey:9.1"], ["9.1.2"]),
    ],
)
def test_nothing_is_told_where_nothing_changes_or_all_is_known(
    image: str, nodes: list[str], ran: list[str | None]
) -> None:
    assert image_warnings(image, nodes, ran) == []
