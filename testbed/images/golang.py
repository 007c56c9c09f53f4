"""Images of one static Go program, built from a module that pins it and all it needs with checked sums."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.commands import output
from testbed.errors import TestbedError
from testbed.images.oci import write_image
from testbed.images.tree import Entry, layer
from testbed.images.workshop import Image, Workshop


@dataclass(frozen=True)
class GoProgram:
    """A main package of the module in a folder of ours, or of one that its go.mod requires."""

    module: Path
    package: str
    config: Mapping[str, Any]
    # The variable that the linker sets to the version in go.mod.
    version_variable: str

    def inputs(self) -> Iterable[str | bytes | Path]:
        return [self.package, repr(self.config), self.version_variable, self.module]

    def make(self, image: Image, room: Path, shop: Workshop) -> Path:
        shop.report(f"{image.title}: building {self.package} {self.version()}")
        program = room / self.package.rpartition("/")[2]
        link = f"-s -w -X {self.version_variable}={self.version()}"
        flags = ["-trimpath", "-mod=readonly", "-buildvcs=false", f"-ldflags={link}", "-o", str(program)]
        environment = {**(shop.tools.go_environment or os.environ), "CGO_ENABLED": "0"}
        output([shop.tools.go, "build", "-C", self.module, *flags, self.package], env=environment)
        content = Entry(program.name, 0o755, program.read_bytes())
        write_image(room / "image.tar", [image.name], layer([content]), self.config)
        return room / "image.tar"

    def version(self) -> str:
        match = re.search(rf"{re.escape(self.package)} (v\S+)", (self.module / "go.mod").read_text())
        if not match:
            raise TestbedError(f"{self.module / 'go.mod'} does not require {self.package}")
        return match[1]
