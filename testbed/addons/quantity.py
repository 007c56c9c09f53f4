"""Sizes as Kubernetes writes them ("1Gi", "500M", "1e9"), in bytes."""

import math
import re
from decimal import Decimal

UNITS = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000**power) for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{unit: Decimal(1024**power) for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}
PATTERN = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<unit>[A-Za-z]*)")


def parse_quantity(text: str) -> int:
    """Bytes, a fraction rounded up as Kubernetes does."""
    found = PATTERN.fullmatch(text)
    if found is None or found["unit"] not in UNITS:
        raise ValueError(f"not a quantity: {text!r}")
    return math.ceil(Decimal(found["number"]) * UNITS[found["unit"]])


def render_quantity(size: int) -> str:
    """The shortest exact text with a binary unit."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if size and size % int(UNITS[unit]) == 0:
            return f"{size // int(UNITS[unit])}{unit}"
    return str(size)
