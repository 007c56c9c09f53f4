"""What is broken now: each fault on file before it is injected, and until it is undone.

The file comes first, so that a fault whose injection was cut short is still found and undone by `heal`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from testbed.layout import Layout

KINDS: dict[str, "type[Fault]"] = {}


@dataclass(frozen=True)
class Fault(ABC):
    """One way to break a testbed. The fields are all that the undo needs to know."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def check(self, layout: Layout) -> None:  # noqa: B027  (most faults found their target when they were made)
        """Refuse a target that is not there, before anything is broken or on file."""

    @abstractmethod
    def inject(self, layout: Layout) -> None:
        """Break it. Doing so twice is the same as once."""

    @abstractmethod
    def undo(self, layout: Layout) -> None:
        """Mend it, also where the injection never happened or the undo was cut short."""

    @property
    def id(self) -> str:
        """The same for the same fault on the same target, usable as a file name and an nftables name."""
        target = next((str(value) for value in asdict(self).values()), "")
        return re.sub(r"[^a-z0-9-]+", "-", f"{self.kind}-{target}".strip("-"))

    def __str__(self) -> str:
        details = ", ".join(f"{key} {value}" for key, value in asdict(self).items() if value is not None)
        return f"{self.id} ({details})" if details else self.id


def inject(layout: Layout, fault: Fault) -> None:
    fault.check(layout)
    layout.faults.mkdir(parents=True, exist_ok=True)
    path = layout.faults / f"{fault.id}.json"
    path.write_text(json.dumps({"kind": fault.kind, "fields": asdict(fault)}))
    try:
        fault.inject(layout)
    except BaseException:
        heal(layout, fault)
        raise


def heal(layout: Layout, fault: Fault) -> None:
    fault.undo(layout)
    (layout.faults / f"{fault.id}.json").unlink(missing_ok=True)


def active(layout: Layout) -> list[Fault]:
    return [load(json.loads(path.read_text())) for path in sorted(layout.faults.glob("*.json"))]


def load(entry: dict[str, Any]) -> Fault:
    return KINDS[entry["kind"]](**entry["fields"])


@contextmanager
def broken(layout: Layout, fault: Fault) -> Iterator[None]:
    """Broken for the length of a block."""
    inject(layout, fault)
    try:
        yield
    finally:
        heal(layout, fault)
