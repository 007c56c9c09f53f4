"""What every manifest begins with.

Owns: the metadata of what the operator makes. Refuses to know: any single kind.
"""

from collections.abc import Mapping
from typing import Any

from valkey_operator.core.names import CR_ANNOTATION, Owner

Manifest = dict[str, Any]


def metadata(
    name: str,
    owner: Owner,
    labels: Mapping[str, str],
    *,
    cr: str,
    annotations: Mapping[str, str] | None = None,
    owned: bool = True,
) -> Manifest:
    """Name, marks and owner; `cr` is the object of the user that it is made for, `owned` whether it goes with it."""
    found: Manifest = {
        "name": name,
        "namespace": owner.namespace,
        "labels": dict(labels),
        "annotations": {**(annotations or {}), CR_ANNOTATION: cr},
    }
    if owned:
        found["ownerReferences"] = [owner.reference()]
    return found


def without_empty(**fields: object) -> Manifest:
    """The fields that have a value; None and empty ones would only be noise to whoever reads the object."""
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}
