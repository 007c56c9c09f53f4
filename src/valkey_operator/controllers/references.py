"""Objects of the user's that a spec refers to: whether they are there, and what a ConfigMap holds.

Owns: reading them. Refuses to know: what they are used for. They carry no label of ours and are in no cache, so they
are read with each look at a Valkey that refers to them, and while one is missing the look is repeated.
"""

import msgspec

from valkey_operator.controllers.kinds import CONFIG_MAPS, SECRETS
from valkey_operator.core.effective import EffectiveWorkload
from valkey_operator.core.render.directives import ConfigMaps
from valkey_operator.core.validation import Problem
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import NotFoundError
from valkey_operator.kube.objects import Key, KubeObject, Resource


class _Data(KubeObject, frozen=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


class References:
    """Through one client."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def read(self, namespace: str, spec: EffectiveWorkload) -> tuple[ConfigMaps, list[Problem]]:
        """The ConfigMaps of `configFrom`, and what is missing."""
        maps: dict[str, dict[str, str]] = {}
        problems = await self._check_password(namespace, spec)
        for reference in spec.config_from or []:
            found = await self._find(CONFIG_MAPS.resource, Key(namespace, reference.name))
            if found is None:
                remedy = "there is no such ConfigMap in this namespace; create it, or remove the reference"
                problems.append(Problem("spec.configFrom", f'"{reference.name}"', remedy))
            else:
                maps[reference.name] = found.data
        return maps, problems

    async def _check_password(self, namespace: str, spec: EffectiveWorkload) -> list[Problem]:
        password = spec.auth.password.secret if spec.auth.password else None
        given = spec.auth.secret_ref or password
        if given is None or spec.auth.disabled:
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
        try:
            return await self._client.get(resource, key, _Data)
        except NotFoundError:
            return None
