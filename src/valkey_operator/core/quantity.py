"""Kubernetes quantities as numbers, for comparing sizes."""

import re
from decimal import Decimal

_QUANTITY = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(m|[kMGTPE]i?|Ki|[eE][+-]?[0-9]+)?", re.ASCII)
_DECIMAL = {"m": Decimal("0.001"), "": Decimal(1)} | {unit: Decimal(1000) ** n for n, unit in enumerate("kMGTPE", 1)}
_BINARY = {f"{unit}i": Decimal(1024) ** n for n, unit in enumerate("KMGTPE", 1)}
_UNITS = _DECIMAL | _BINARY


def parse_quantity(text: str | int) -> Decimal:
    """The value of a quantity such as 10Gi; ValueError if it is none."""
    found = _QUANTITY.fullmatch(str(text))
    if not found or found[2] == "ki":
        raise ValueError(f"{text!r} is no quantity; write it like 10Gi")
    number, unit = Decimal(found[1]), found[2] or ""
    if unit[:1] in ("e", "E") and unit not in _UNITS:
        return number * Decimal(10) ** int(unit[1:])
    return number * _UNITS[unit]
