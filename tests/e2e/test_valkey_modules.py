"""Modules: those of the spec, those of the image, none, and one that is not there."""

import json
import platform
from pathlib import Path

import pytest

from testbed.images.catalogue import valkey as valkey_image
from testbed.images.shelf import image_cache
from testbed.images.workshop import Workshop
from testbed.layout import Layout
from tests.e2e.manifests import Manifest
from tests.e2e.testbed_command import run_testbed
from tests.e2e.valkeys import Shop, Tested, valkey
from tests.support.tiny_module import MACHINE, tiny_module, with_files

pytestmark = [
    pytest.mark.node_faults,
    pytest.mark.skipif(platform.machine() != MACHINE, reason=f"the module under test is made for {MACHINE}"),
]
FOLDER = "usr/lib/valkey"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An image like valkey-bundle: two modules in its folder, one elsewhere. Its name, and its archive."""
    name, out = f"valkey/valkey-bundle:{Tested.version}", tmp_path_factory.mktemp("bundle") / "bundle.tar"
    files = {
        f"{FOLDER}/libone.so": tiny_module("one"),
        f"{FOLDER}/libtwo.so": tiny_module("two"),
        f"{FOLDER}/README": b"no module",
        "opt/three.so": tiny_module("three"),
    }
    with_files(Workshop(image_cache(), print).build(valkey_image(Tested.version)), out, name, files)
    return name, out


@pytest.fixture
def bundle(layout: Layout, archive: tuple[str, Path]) -> str:
    """That image on every node."""
    name, file = archive
    run_testbed(layout, "load", str(file))
    return name


def loaded(shop: Shop, name: str) -> dict[str, tuple[str, list[str]]]:
    """The modules of a server with their paths and arguments; Valkey's own have no file."""
    secret = shop.password(f"{name}-auth")
    told = shop.say(f"{name}-0", "--json", "MODULE", "LIST", password=secret)
    found = {each["name"]: (each["path"], each["args"]) for each in json.loads(told)}
    return {each: (path, args) for each, (path, args) in found.items() if path.startswith("/")}


def test_modules_are_those_of_the_spec_or_of_the_image_or_none(shop: Shop, bundle: str) -> None:
    chosen = [{"path": "/opt/three.so", "args": ["size", 'a "b" # c']}, {"path": f"/{FOLDER}/libone.so"}]
    given: dict[str, Manifest] = {"all": {}, "chosen": {"modules": chosen}, "none": {"modules": []}}
    shop.apply(*(valkey(name, **{**spec, "image": bundle}) for name, spec in given.items()))
    for name in given:
        shop.wait_for_state("Ready", name)
    assert loaded(shop, "all") == {"one": (f"/{FOLDER}/libone.so", []), "two": (f"/{FOLDER}/libtwo.so", [])}
    assert loaded(shop, "chosen") == {
        "three": ("/opt/three.so", ["size", 'a "b" # c']),
        "one": (f"/{FOLDER}/libone.so", []),
    }
    assert loaded(shop, "none") == {}


def test_a_module_that_is_not_there_is_named_and_correcting_the_spec_heals(shop: Shop) -> None:
    shop.apply(valkey(modules=[{"path": "/opt/missing.so"}]))

    def named() -> str | None:
        message = str(shop.status().get("message", ""))
        return message if "/opt/missing.so" in message else None

    message = shop.cluster.wait_for("the missing module to be named", named, shop.namespace, deadline_s=90)
    assert "container valkey cannot start" in message

    shop.patch("cart", {"modules": []})
    shop.wait_for_state("Ready")
    shop.write(10)
