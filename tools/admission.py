"""The admission policies: what a CRD's own schema cannot refuse, and what deserves a warning.

Directives in `config` have values of several types, which a CRD's rules cannot look into; a policy can.
"""

from typing import Any

from valkey_operator.api.meta import GROUP, VERSION
from valkey_operator.valkey.config_keys import OWNED

Objects = list[dict[str, Any]]

WORKLOADS = ["valkeys", "valkeyclusters", "valkeypools"]
WITH_CONFIG = [*WORKLOADS, "sentinels", "valkeyoperatordefaults"]

_HOLDER = "object.kind == 'ValkeyPool' ? (has(object.spec.template) ? object.spec.template : {}) : object.spec"
_PLACE = "object.kind == 'ValkeyPool' ? 'spec.template.' : 'spec.'"
_NAME = "'^[a-zA-Z][a-zA-Z0-9._-]*$'"


def admission_policies() -> dict[str, Objects]:
    """Every policy with its binding, by the name of its file."""
    return {"config.yaml": config_policy(), "warnings.yaml": warning_policies()}


def config_policy() -> Objects:
    """Refuse directives that the operator owns, and values that are none."""
    variables = {
        "holder": _HOLDER,
        "config": "has(variables.holder.config) ? variables.holder.config : {}",
        "place": f"({_PLACE}) + 'config.'",
        "owned": f"[{', '.join(_owned_entry(pattern, instead) for pattern, instead in OWNED.items())}]",
        "refused": f"variables.config.filter(key, variables.owned.exists(entry, {_matches('entry', 'key')}))",
        "misnamed": f"variables.config.filter(key, !key.matches({_NAME}))",
        "malformed": f"variables.config.filter(key, !({_well_formed('variables.config[key]')}))",
    }
    instead = f"variables.owned.filter(entry, {_matches('entry', 'variables.refused[0]')})[0].instead"
    shown = _shown("variables.config[variables.malformed[0]]")
    validations = [
        _validation(
            # Without the value: it may be a password.
            "size(variables.refused) == 0",
            f"variables.place + variables.refused[0] + ' is owned by the operator: remove it, and use ' + {instead}",
        ),
        _validation(
            "size(variables.misnamed) == 0",
            "variables.place + variables.misnamed[0] + ' is no name of a directive: use letters, digits, dots "
            "and dashes'",
        ),
        _validation(
            "size(variables.malformed) == 0",
            f"variables.place + variables.malformed[0] + ' is ' + {shown} + ': must be a string, a number, a boolean "
            "or a list of these, without line breaks; use a list to repeat a directive'",
        ),
    ]
    return _policy(
        "valkey-operator-config", "Deny", resources=WITH_CONFIG, variables=variables, validations=validations
    )


def warning_policies() -> Objects:
    """Warn of what is allowed and seldom meant."""
    persistence = {
        "holder": _HOLDER,
        "persistence": "has(variables.holder.persistence) ? variables.holder.persistence : {}",
        "rdb": _switched_on("rdb"),
        "aof": _switched_on("aof"),
    }
    no_volume = _validation(
        "!has(variables.persistence.enabled) || variables.persistence.enabled || !(variables.rdb || variables.aof)",
        f"({_PLACE}) + 'persistence.enabled is false, yet ' + (variables.rdb ? 'rdb' : 'aof') + '.enabled is "
        f"true: files "
        "are written to a temporary volume and are gone with the pod; set persistence.enabled to true, or switch "
        "it off'",
    )
    even = _validation(
        "!has(object.spec.replicas) || object.spec.replicas % 2 == 1",
        "'spec.replicas is ' + string(object.spec.replicas) + ', an even number: it tolerates no more failures "
        "than ' + "
        "string(object.spec.replicas - 1) + '; use an odd number such as 3 or 5'",
    )
    return [
        *_policy(
            "valkey-operator-volume-warning",
            "Warn",
            resources=WORKLOADS,
            variables=persistence,
            validations=[no_volume],
        ),
        *_policy("valkey-operator-sentinel-warning", "Warn", resources=["sentinels"], variables={}, validations=[even]),
    ]


def _policy(
    name: str, action: str, *, resources: list[str], variables: dict[str, str], validations: Objects
) -> Objects:
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": [VERSION],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
        "scope": "*",
    }
    # Every default is spelled out, because the field is taken as a whole: who applies it a second time, Helm after
    # kubectl or the other way round, has a conflict unless he says exactly what is stored.
    constraints = {"resourceRules": [rule], "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": constraints,
        # What was stored before the policy existed must still get its finalizers and annotations.
        "matchConditions": [
            {"name": "spec-changes", "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec"}
        ],
        "variables": [{"name": key, "expression": expression} for key, expression in variables.items()],
        "validations": validations,
    }
    return [
        _object("ValidatingAdmissionPolicy", name, spec),
        _object("ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": [action]}),
    ]


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _validation(expression: str, message: str) -> dict[str, Any]:
    return {"expression": expression, "messageExpression": message, "reason": "Invalid"}


def _owned_entry(pattern: str, instead: str) -> str:
    start, star, end = pattern.partition("*")
    return f"{{'start': '{start}', 'end': '{end}', 'any': '{star}', 'instead': '{instead}'}}"


def _matches(entry: str, key: str) -> str:
    lowered = f"{key}.lowerAscii()"
    pattern = f"({lowered}.startsWith({entry}.start) && {lowered}.endsWith({entry}.end))"
    return f"({entry}.any == '*' ? {pattern} : {lowered} == {entry}.start)"


def _well_formed(value: str) -> str:
    return f"type({value}) == list ? {value}.all(each, {_scalar('each')}) : {_scalar(value)}"


def _scalar(value: str) -> str:
    one_line = f"(type({value}) != string || !{value}.matches('[\\\\n\\\\r\\\\x00]'))"
    return f"(type({value}) != map && type({value}) != list && {value} != null && {one_line})"


def _shown(value: str) -> str:
    # The API server drops a message that has a line break itself.
    return f"(type({value}) == list ? 'a list' : type({value}) == string ? 'a text with a line break' : 'an object')"


def _switched_on(part: str) -> str:
    held = f"variables.persistence.{part}"
    return f"has({held}) && has({held}.enabled) && {held}.enabled"
