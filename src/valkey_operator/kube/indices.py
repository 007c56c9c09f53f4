"""Finding cached objects by something else than their key.

Owns: index tables, kept as objects come and go. Refuses to know: what an index is good for.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from valkey_operator.kube.objects import Key, KubeObject

T = TypeVar("T", bound=KubeObject)
Index = Callable[[T], Iterable[str]]


def by_owner_uid(owned: KubeObject) -> list[str]:
    """Index by the uid of the owners."""
    return [owner.uid for owner in owned.metadata.owner_references]


def by_label(name: str) -> Index[KubeObject]:
    """Index by the value of one label; objects without it are not in the index."""

    def values(labelled: KubeObject) -> list[str]:
        value = labelled.metadata.labels.get(name)
        return [] if value is None else [value]

    return values


class Indices(Generic[T]):
    """Named tables from a value to the keys of the objects that have it."""

    def __init__(self, indices: Mapping[str, Index[T]]) -> None:
        self._indices = dict(indices)
        self._tables: dict[str, dict[str, set[Key]]] = {name: defaultdict(set) for name in indices}

    def keys_of(self, name: str, value: str) -> frozenset[Key]:
        """The keys under `value`."""
        return frozenset(self._tables[name].get(value, ()))

    def move(self, key: Key, old: T | None, new: T | None) -> None:
        """An object changed from `old` to `new`."""
        for name, index in self._indices.items():
            before = set(index(old)) if old is not None else set()
            after = set(index(new)) if new is not None else set()
            self._update(self._tables[name], key, before - after, after - before)

    @staticmethod
    def _update(table: dict[str, set[Key]], key: Key, left: set[str], entered: set[str]) -> None:
        for value in left:
            table[value].discard(key)
            if not table[value]:
                del table[value]
        for value in entered:
            table[value].add(key)
