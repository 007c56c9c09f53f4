"""CEL rules that more than one kind needs, as functions from what differs to a rule.

Unset counts as the built-in value here: the schema cannot see ValkeyOperatorDefaults. What follows from those is
checked again over the effective spec, in core/validation.py.
"""

from valkey_operator.api.fields import DNS_LABEL, Rule

# `controller-revision-hash: <StatefulSet>-<ten characters>` is a label, and a label has at most 63 characters.
LONGEST_NODE_NAME = 52
LONGEST_SERVICE_NAME = 63
MOST_REPLICAS = 100
MOST_SHARDS = 1000
LONGEST_INDEX = len("-99")
LONGEST_SHARD = len("-999")
LONGEST_NAME = LONGEST_NODE_NAME - LONGEST_INDEX
LONGEST_SHARDED_NAME = LONGEST_NAME - LONGEST_SHARD


def fitting_name(longest: int) -> Rule:
    """The name leaves room for the names of what is made from it, and is one that a Service may have."""
    pattern = DNS_LABEL.replace("^[a-z0-9]", "^[a-z]", 1)
    return Rule(
        rule=f"size(self.metadata.name) <= {longest} && self.metadata.name.matches('{pattern}')",
        message=(
            f'metadata.name is "%s" (%s characters): Services and nodes are named after it, so it must have at most '
            f"{longest} characters, begin with a lower-case letter, and hold only lower-case letters, digits and dashes"
        ),
        values=("self.metadata.name", "size(self.metadata.name)"),
    )


def immutable(field: str, unset: str, remedy: str) -> Rule:
    """A field that cannot change once the object exists; `unset` is the CEL literal that stands for no value."""
    now, before = value_of("self", field, unset), value_of("oldSelf", field, unset)
    return Rule(
        rule=f"{now} == {before}",
        message=f'{field} cannot change after creation: it was "%s" and would be "%s"; set it back, or {remedy}',
        values=(before, now),
        field=f".{field}",
    )


def volume_rules() -> tuple[Rule, ...]:
    """What Kubernetes cannot do to an existing volume is refused before anything is tried."""
    now, before = (f"string({value_of(whose, 'persistence.size', quoted('10Gi'))})" for whose in ("self", "oldSelf"))
    return (
        immutable("persistence.enabled", "true", "create a new object and copy the data"),
        immutable("persistence.storageClassName", quoted(""), "create a new object with the other class"),
        Rule(
            rule=f"quantity({now}).compareTo(quantity({before})) >= 0",
            message="persistence.size is %s and was %s: a volume can only grow; give at least %s",
            values=(now, before, before),
            field=".persistence.size",
        ),
    )


def at_most_one(*fields: str, given: dict[str, str] | None = None) -> Rule:
    """Of these fields at most one is given; `given` says how to tell where `has()` is not it."""
    tests = {field: f"has(self.{field})" for field in fields} | (given or {})
    return Rule(
        rule=f"[{', '.join(tests.values())}].filter(given, given).size() <= 1",
        message=f"{'%s' * len(tests)}are given together, but at most one of {', '.join(tests)} may be: keep one",
        values=tuple(f"{test} ? '{field} ' : ''" for field, test in tests.items()),
    )


def quoted(text: str) -> str:
    """A CEL string literal of plain text."""
    return f"'{text}'"


def value_of(whose: str, path: str, unset: str) -> str:
    """A field's value, or the literal `unset`.

    Written with has(), not with optionals: the API server would lose the length of the value, and with it the cost.
    """
    parts = path.split(".")
    tests = " && ".join(f"has({whose}.{'.'.join(parts[: n + 1])})" for n in range(len(parts)))
    return f"({tests} ? {whose}.{path} : {unset})"
