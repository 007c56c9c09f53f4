"""Recipes and the catalogue: what is asked of other programs, and when an image is built again."""

import gzip
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.images import catalogue
from testbed.images.containerfile import OwnContainerfile
from testbed.images.debian import DebianPackages, accounts, certificate_bundle, run_apart, upstream_version
from testbed.images.golang import GoProgram
from testbed.images.tree import Entry
from testbed.images.workshop import Image, Workshop

SMALL = DebianPackages(suite="forky", packages=("valkey-server",), config={}, versioned="valkey-server")


def changelog(first_line: str, package: str = "valkey-server") -> Entry:
    return Entry(f"usr/share/doc/{package}/changelog.Debian.gz", data=gzip.compress(first_line.encode()))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("Containerfile", "pyproject.toml", "requirements.txt", "src/main.py"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_the_catalogue_has_each_image_once() -> None:
    assert [image.name for image in catalogue.catalogue()] == [
        "localhost/pause:1",
        "valkey/valkey:8.0",
        "valkey/valkey:8.1",
        "valkey/valkey:9.1",
        "oliver006/redis_exporter:latest",
        "valkey-operator:dev",
    ]


def test_no_two_images_share_a_key() -> None:
    images = [*catalogue.catalogue(), catalogue.python_base()]
    assert len({image.key for image in images}) == len(images)


def test_a_key_does_not_change_by_itself() -> None:
    assert [i.key for i in catalogue.catalogue()] == [i.key for i in catalogue.catalogue()]


@pytest.mark.parametrize("changed", ["Containerfile", "pyproject.toml", "requirements.txt", "src/main.py"])
def test_the_operator_is_built_again_when_its_lock_or_source_changes(project: Path, changed: str) -> None:
    image = Image("operator:dev", OwnContainerfile(project, Image("base:1", SMALL)))
    before = image.key
    (project / changed).write_text("something else")
    assert image.key != before


def test_the_operator_is_built_again_when_its_base_changes(project: Path) -> None:
    bases = [Image("base:1", SMALL), Image("base:1", replace(SMALL, packages=("valkey-server", "tzdata")))]
    assert len({Image("operator:dev", OwnContainerfile(project, base)).key for base in bases}) == 2


def test_the_tests_of_the_project_are_no_input_of_the_operator(project: Path) -> None:
    image = Image("operator:dev", OwnContainerfile(project, Image("base:1", SMALL)))
    before = image.key
    (project / "tests").mkdir()
    (project / "tests/test_a.py").touch()
    assert image.key == before


@pytest.mark.parametrize(
    "other", [{"suite": "trixie"}, {"packages": ()}, {"config": {"User": "1"}}, {"finish": "true"}]
)
def test_a_debian_image_is_built_again_when_its_recipe_changes(other: dict[str, object]) -> None:
    assert Image("a:1", SMALL).key != Image("a:1", replace(SMALL, **other)).key  # type: ignore[arg-type]


def test_the_command_names_suite_and_packages_but_no_mirror() -> None:
    command = replace(SMALL, overlay="forky-backports").command()
    assert command[-2:] == ["--include=valkey-server", "forky"]
    assert "://" not in " ".join(command)


def test_a_program_that_hangs_up_on_its_group_does_not_reach_us() -> None:
    with pytest.raises(TestbedError, match="no space left"):
        # Exits by itself too, in case whoever runs the tests ignores hang-ups, as nohup does.
        run_apart(["sh", "-c", "echo no space left >&2; kill -HUP 0; exit 1"], os.environ)


def test_an_interrupt_takes_the_whole_group_along(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    begun = time.monotonic()
    with alarm(0.3, interrupt), pytest.raises(KeyboardInterrupt):
        run_apart(["sh", "-c", f"sleep 60; touch {tmp_path}/survived"], os.environ)
    assert time.monotonic() - begun < 10


@contextmanager
def alarm(after_s: float, handler: Callable[..., None]) -> Iterator[None]:
    former = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, former)


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("valkey (9.1.2-1) unstable; urgency=medium", "9.1.2"),
        ("valkey (8.0.1+dfsg1-1~bpo12+1) bookworm-backports; urgency=medium", "8.0.1"),
        ("valkey (1:8.1.1+dfsg1-3+deb13u3) trixie-security; urgency=medium", "8.1.1"),
    ],
)
def test_the_version_is_read_from_the_package(line: str, version: str) -> None:
    assert upstream_version([changelog(line)], "valkey-server") == version


def test_an_unreadable_version_is_an_error_that_shows_the_line() -> None:
    with pytest.raises(TestbedError, match="begins 'nonsense'"):
        upstream_version([changelog("nonsense")], "valkey-server")


def test_the_patch_level_becomes_a_second_name() -> None:
    assert SMALL.alias(Image("valkey/valkey:9.1", SMALL), [changelog("valkey (9.1.2-1)")]) == ["valkey/valkey:9.1.2"]


@pytest.mark.parametrize("found", ["9.2.0", "9.10.0", "10.0.1"])
def test_a_suite_that_moved_on_to_another_version_is_refused(found: str) -> None:
    with pytest.raises(TestbedError, match=f"9.1 can't be built: Debian forky has valkey-server {found} now"):
        SMALL.alias(Image("valkey/valkey:9.1", SMALL), [changelog(f"valkey ({found}-1)")])


def test_pruning_drops_documentation_and_package_management_but_keeps_licences() -> None:
    kept = ["usr/bin/valkey-server", "usr/share/doc/valkey-server/copyright"]
    dropped = [
        "usr/share/doc/valkey-server/changelog.gz",
        "usr/bin/dpkg",
        "bin/systemd-sysusers",
        "var/lib/dpkg/status",
    ]
    left = {entry.path for entry in SMALL.completed([Entry(path) for path in (*kept, *dropped)])}
    assert left == {*kept, "bin", "lib", "lib64", "sbin"}


def test_certificates_become_one_bundle() -> None:
    certificates = [Entry(f"usr/share/ca-certificates/mozilla/{name}.crt", data=name.encode()) for name in "ba"]
    assert certificate_bundle(certificates) == [Entry("etc/ssl/certs/ca-certificates.crt", data=b"ab")]
    assert certificate_bundle([]) == []


def test_accounts_have_the_user_and_its_group() -> None:
    files = {entry.path: entry.data.decode() for entry in accounts("valkey", 999, "/data")}
    assert "valkey:x:999:999::/data:/usr/sbin/nologin\n" in files["etc/passwd"]
    assert "valkey:x:999:\n" in files["etc/group"]


def test_the_exporter_has_the_version_that_its_module_pins(tmp_path: Path) -> None:
    recipe = catalogue.redis_exporter().recipe
    assert isinstance(recipe, GoProgram)
    assert recipe.version().startswith("v1.")
    shutil.copy(recipe.module / "go.mod", tmp_path)
    with pytest.raises(TestbedError, match="does not require example"):
        replace(recipe, module=tmp_path, package="example").version()


def test_an_image_whose_sources_change_while_it_is_built_is_not_published(project: Path, tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", report=lambda _: None)
    with pytest.raises(TestbedError, match="a:1 changed while it was being built"):
        shop.build(Image("a:1", EditedMeanwhile(project / "src")))
    assert not list((tmp_path / "cache").glob("*.tar"))


@dataclass(frozen=True)
class EditedMeanwhile:
    source: Path

    def inputs(self) -> list[Path]:
        return [self.source]

    def make(self, _image: Image, room: Path, _shop: Workshop) -> Path:
        (self.source / "main.py").write_text("edited")
        (room / "image.tar").touch()
        return room / "image.tar"
