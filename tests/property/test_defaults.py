"""Laws of merging defaults."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api.operator_defaults import DefaultsSpec
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.core.defaults import effective_valkey, merge

# As in a typed spec, a name always stands for the same sort of value.
leaves = st.dictionaries(st.sampled_from("abc"), st.integers() | st.lists(st.integers(), max_size=3), max_size=3)
objects = st.recursive(
    leaves, lambda inner: st.builds(dict.__or__, leaves, st.dictionaries(st.sampled_from("xyz"), inner, max_size=3))
)

specs = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["a", "b"]),
        "durability": st.sampled_from(["Cache", "Available", "Quorum"]),
        "tolerations": st.lists(st.sampled_from([{"key": "a"}, {"key": "b"}]), max_size=2),
        "labels": st.dictionaries(st.sampled_from("ab"), st.sampled_from("cd")),
        "config": st.dictionaries(
            st.sampled_from("ab"), st.integers() | st.booleans() | st.lists(st.integers(), max_size=2)
        ),
        "persistence": st.fixed_dictionaries(
            {},
            optional={
                "enabled": st.booleans(),
                "size": st.sampled_from(["1Gi", "2Gi"]),
                "rdb": st.fixed_dictionaries({}, optional={"enabled": st.booleans()}),
            },
        ),
        "tls": st.fixed_dictionaries(
            {},
            optional={"enabled": st.booleans(), "minVersion": st.sampled_from(["TLS12", "TLS13"])},
        ),
    },
)


@given(objects, objects, objects)
def test_merging_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert merge(a, merge(b, c)) == merge(merge(a, b), c)


@given(objects)
def test_merging_a_value_with_itself_or_with_nothing_changes_nothing(a: dict[str, Any]) -> None:
    assert merge(a, a) == merge(a, {}) == merge({}, a) == a


@given(specs, st.lists(specs, max_size=2))
def test_whatever_the_object_says_is_in_the_result(spec: dict[str, Any], layers: list[dict[str, Any]]) -> None:
    found = msgspec.to_builtins(
        effective_valkey(msgspec.convert(spec, ValkeySpec), [msgspec.convert(each, DefaultsSpec) for each in layers])
    )
    assert contains(found, spec)


@given(specs, specs)
def test_a_layer_that_repeats_the_object_changes_nothing(spec: dict[str, Any], other: dict[str, Any]) -> None:
    weaker, own = msgspec.convert(other, DefaultsSpec), msgspec.convert(spec, ValkeySpec)
    repeated = msgspec.convert(spec, DefaultsSpec)
    assert effective_valkey(own, [weaker, repeated]) == effective_valkey(own, [weaker])


def contains(found: Any, said: Any) -> bool:
    if isinstance(said, dict):
        return all(key in found and contains(found[key], each) for key, each in said.items() if each != {})
    return bool(found == said)
