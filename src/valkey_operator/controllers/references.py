"""Objects of the user's that specs refer to: whether they are there, what a ConfigMap holds, who refers to them.

Owns: reading them, and finding those who refer to one that has changed. Refuses to know: what they are used for.
They carry no label of ours, so only their versions are watched; what was read is read again when it has another one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from valkey_operator.controllers.kinds import CONFIG_MAPS, SECRETS
from valkey_operator.core.effective import EffectiveWorkload
from valkey_operator.core.render.directives import ConfigMaps
from valkey_operator.core.render.pod import given_password
from valkey_operator.core.validation import Problem
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import NotFoundError
from valkey_operator.kube.objects import Key, KubeObject, Resource, parse_version
from valkey_operator.kube.store import Change
from valkey_operator.kube.versions import Versions

_HIDDEN = "set"


class Reference(NamedTuple):
    """An object that is referred to."""

    resource: Resource
    key: Key


class Referrers:
    """Who refers to what, as of the last look at each."""

    def __init__(self) -> None:
        self._referrers: dict[Reference, set[Key]] = {}
        self._references: dict[Key, frozenset[Reference]] = {}

    def remember(self, who: Key, references: Iterable[Reference]) -> None:
        """It refers to these, and to nothing else any more."""
        before, after = self._references.pop(who, frozenset()), frozenset(references)
        for reference in before - after:
            self._referrers[reference].discard(who)
            if not self._referrers[reference]:
                del self._referrers[reference]
        for reference in after - before:
            self._referrers.setdefault(reference, set()).add(who)
        if after:
            self._references[who] = after

    def keys(self, resource: Resource) -> Callable[[Change[Any]], frozenset[Key]]:
        """Who has to be looked at when an object of this kind has changed."""
        return lambda change: frozenset(self._referrers.get(Reference(resource, change.key), ()))

    def __contains__(self, reference: Reference) -> bool:
        return reference in self._referrers


class _Data(KubeObject, frozen=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


class References:
    """Through one client; `versions` tells of the objects of others, by kind."""

    def __init__(self, client: KubeClient, referrers: Referrers, versions: Mapping[Resource, Versions]) -> None:
        self._client = client
        self._referrers = referrers
        self._versions = versions
        self._known: dict[Reference, _Data] = {}

    async def read(self, who: Key, spec: EffectiveWorkload) -> tuple[ConfigMaps, list[Problem]]:
        """The ConfigMaps of `configFrom`, and what is missing."""
        # Before anything is read: a change that comes meanwhile brings another look.
        self._remember(who, referred_to(who.namespace, spec))
        maps: dict[str, dict[str, str]] = {}
        problems = await self._check_password(who.namespace, spec)
        for reference in spec.config_from or []:
            found = await self._find(CONFIG_MAPS.resource, Key(who.namespace, reference.name))
            if found is None:
                remedy = "there is no such ConfigMap in this namespace; create it, or remove the reference"
                problems.append(Problem("spec.configFrom", f'"{reference.name}"', remedy))
            else:
                maps[reference.name] = found.data
        return maps, problems

    def forget(self, who: Key) -> None:
        """It is gone, and refers to nothing."""
        self._remember(who, ())

    def _remember(self, who: Key, references: Iterable[Reference]) -> None:
        self._referrers.remember(who, references)
        for reference in [each for each in self._known if each not in self._referrers]:
            del self._known[reference]

    async def _check_password(self, namespace: str, spec: EffectiveWorkload) -> list[Problem]:
        given = given_password(spec)
        if given is None:
            return []
        field = "spec.auth.secretRef" if spec.auth.secret_ref else "spec.auth.password.secret"
        found = await self._find(SECRETS.resource, Key(namespace, given.name))
        if found is None:
            remedy = "there is no such Secret in this namespace; create it, or remove the reference"
            return [Problem(f"{field}.name", f'"{given.name}"', remedy)]
        key = given.key or "password"
        if not found.data.get(key):
            return [Problem(f"{field}.key", f'"{key}"', f"Secret {given.name} has no such key, or it is empty; add it")]
        return []

    async def _find(self, resource: Resource, key: Key) -> _Data | None:
        reference = Reference(resource, key)
        known = self._known.get(reference)
        if known and parse_version(known.metadata.resource_version) == self._versions[resource].get(key):
            return known
        try:
            found = await self._client.get(resource, key, _Data)
        except NotFoundError:
            self._known.pop(reference, None)
            return None
        self._known[reference] = _without_secrets(found) if resource == SECRETS.resource else found
        return found


def referred_to(namespace: str, spec: EffectiveWorkload) -> list[Reference]:
    """What a spec refers to."""
    maps = [Reference(CONFIG_MAPS.resource, Key(namespace, each.name)) for each in spec.config_from or []]
    given = given_password(spec)
    return [*maps, *([Reference(SECRETS.resource, Key(namespace, given.name))] if given else [])]


def _without_secrets(found: _Data) -> _Data:
    """Only which keys have a value is asked for."""
    return _Data(metadata=found.metadata, data={key: _HIDDEN for key, value in found.data.items() if value})
