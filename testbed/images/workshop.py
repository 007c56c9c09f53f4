"""Where images are made: the tools, the cache, and the one order in which any recipe becomes an archive.

Owns: what an image and a recipe are. Refuses to know: any particular recipe.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from testbed import store
from testbed.errors import TestbedError

# Raise it when a change of this package changes what the same recipe gives.
RECIPE_VERSION = "1"


@dataclass(frozen=True)
class Tools:
    """Programs that are not on every machine's PATH, and the environment Go is run in (None: ours)."""

    go: str | Path = "go"
    uv: str | Path = "uv"
    go_environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Image:
    """A name with a tag, and how it is made."""

    name: str
    recipe: "Recipe"

    @property
    def slug(self) -> str:
        return self.name.replace("/", "-").replace(":", "-")

    @property
    def title(self) -> str:
        return self.name.rpartition("/")[2].replace(":", " ")

    @property
    def key(self) -> str:
        return store.fingerprint([RECIPE_VERSION, self.name, *self.recipe.inputs()])


class Recipe(Protocol):
    """A way to make an image."""

    def inputs(self) -> Iterable[str | bytes | Path]:
        """All that the content depends on."""
        ...

    def make(self, image: Image, room: Path, shop: "Workshop") -> Path:
        """Write the archive somewhere in `room`, an empty folder that is removed afterwards."""
        ...


@dataclass(frozen=True)
class Workshop:
    """Builds images into a cache."""

    cache: Path
    report: Callable[[str], None]
    tools: Tools = Tools()

    def build(self, image: Image) -> Path:
        """The image's archive, made now unless the cache has it."""
        key = image.key
        return store.published(
            self.cache, image.slug, key, suffix=".tar", make=lambda room: self.make(image, key, room)
        )

    def make(self, image: Image, key: str, room: Path) -> Path:
        made = image.recipe.make(image, room, self)
        if image.key != key:
            # Publishing it would sell the new sources under the key of the old ones, for good.
            raise TestbedError(f"the sources of {image.name} changed while it was being built; run it again")
        return made


def build(image: Image, cache: Path, report: Callable[[str], None], tools: Tools | None = None) -> Path:
    """The image's OCI archive in the cache; a second call builds nothing."""
    return Workshop(cache, report, tools or Tools()).build(image)
