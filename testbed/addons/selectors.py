"""Label selectors of Kubernetes: whether a set of labels is meant."""

from collections.abc import Mapping

from testbed.addons.kubeapi import Json

Labels = Mapping[str, str]


def matches(selector: Json, labels: Labels) -> bool:
    """Whether all that the selector asks for holds. The empty selector means everything."""
    wanted: Labels = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _holds(expression: Json, labels: Labels) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            raise ValueError(f"the API server let an unknown selector operator through: {operator}")
