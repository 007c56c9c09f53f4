"""Which modules a server is told to load."""

from pathlib import Path

from valkey_operator.agent.modules import modules_in_image
from valkey_operator.valkey.boot import Credentials, ModuleToLoad, Start, StartKind, render_start_conf


def test_every_module_in_the_images_folder_is_found_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/valkey"
    folder.mkdir(parents=True)
    for name in ("libsearch.so", "libjson.so", "README"):
        (folder / name).touch()
    assert [each.path for each in modules_in_image(tmp_path)] == [
        "/usr/lib/valkey/libjson.so",
        "/usr/lib/valkey/libsearch.so",
    ]


def test_an_image_without_that_folder_has_no_modules(tmp_path: Path) -> None:
    assert modules_in_image(tmp_path) == []


def test_modules_are_loaded_before_the_settings_with_each_argument_quoted() -> None:
    text = render_start_conf(
        Start(kind=StartKind.WRITABLE_PRIMARY),
        Credentials(default_password=None, agent_password="x"),
        port=6379,
        settings_file="/boot/valkey.conf",
        modules=[ModuleToLoad("/m/a.so", ("one", 'two "words"')), ModuleToLoad("/m/b.so")],
    )
    assert text.splitlines()[:3] == [
        r'loadmodule "/m/a.so" "one" "two \"words\""',
        'loadmodule "/m/b.so"',
        'include "/boot/valkey.conf"',
    ]
