"""All images of the testbed at once, with the tools that this clone and this machine have."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testbed import store
from testbed.commands import output
from testbed.images.catalogue import PROJECT, catalogue
from testbed.images.workshop import Tools, Workshop
from testbed.layout import cache_root
from testbed.progress import Progress
from testbed.toolchain import go, go_environment

# Half of each build waits for the network, so two at a time fill two cores.
AT_A_TIME = 2


def build_all(progress: Progress) -> list[Path]:
    """The archive of every image, in the order of the catalogue; those in the cache are not built again."""
    cache = image_cache()
    tools = Tools(go=go(progress), uv=uv(cache, progress.say), go_environment=go_environment())
    shop = Workshop(cache, progress.say, tools)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(shop.build, catalogue()))


def image_cache() -> Path:
    return cache_root() / "images"


def uv(cache: Path, report: Callable[[str], None]) -> Path:
    """The uv of this clone's environment, or, before there is one, the same version in the cache."""
    ours = PROJECT / ".venv/bin/uv"
    lock = PROJECT / "requirements-uv.txt"
    if ours.exists():
        return ours
    key = store.fingerprint([lock])
    return store.published(cache, "uv", key, make=lambda room: install_uv(lock, room / "uv", report)) / "bin/uv"


def install_uv(lock: Path, home: Path, report: Callable[[str], None]) -> Path:
    report("uv: installing it from PyPI")
    output([sys.executable, "-m", "venv", home])
    output([home / "bin/pip", "install", "--quiet", "--require-hashes", "--requirement", lock])
    return home
