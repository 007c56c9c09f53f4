"""What exists of one owner: its nodes, their pods and volumes, those of nodes that are gone too.

Owns: how they are found, for a Valkey and a ValkeyCluster alike. Refuses to know: which of them shall exist.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from valkey_operator.api.meta import ObjectMeta
from valkey_operator.api.operator_defaults import DefaultsSpec, ValkeyOperatorDefaults
from valkey_operator.controllers.ground import BY_OWNER, BY_OWNER_UID, Ground
from valkey_operator.controllers.keeper import is_unbound
from valkey_operator.controllers.kinds import ClaimObject, NodeObject
from valkey_operator.core.defaults import layers_for
from valkey_operator.core.names import KIND_LABEL, NODE_LABEL, TEMPLATE_ANNOTATION, settings_name
from valkey_operator.core.render.node import MadeBefore
from valkey_operator.core.render.pod import server_image
from valkey_operator.kube.objects import Key, KubeObject


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 - of its own kind


Place = TypeVar("Place", bound=_Ordered)
"""Where a node is in its owner: its index, or its shard and its index."""


class Belongings(Generic[Place]):
    """Of owners of one kind, one after the other; `place_of` tells a node's place in its owner by its name."""

    def __init__(
        self, ground: Ground, kind: str, place_of: Callable[[str, str], Place | None], operator_namespace: str
    ) -> None:
        self._ground = ground
        self._kind = kind
        self._place_of = place_of
        self._operator_namespace = operator_namespace

    def layers(self, namespace: str) -> list[DefaultsSpec]:
        """The defaults that apply in a namespace, the weakest first."""
        found = [
            ValkeyOperatorDefaults(
                metadata=ObjectMeta(name=each.key.name, namespace=each.key.namespace), spec=each.spec
            )
            for each in self._ground.defaults.list()
        ]
        return layers_for(namespace, self._operator_namespace, found)

    def nodes(self, owner: KubeObject) -> dict[Place, NodeObject]:
        """The nodes that exist, by place; one that is being deleted, or unbound, may still take writes."""
        unbound = [
            node
            for node in self._ground.nodes.by_index(BY_OWNER, owner.key.name)
            if node.key.namespace == owner.key.namespace and not node.metadata.owner_references
        ]
        found: dict[Place, NodeObject] = {}
        for node in (*self._ground.nodes.by_index(BY_OWNER_UID, owner.metadata.uid), *unbound):
            place = self._place_of(owner.key.name, node.key.name)
            if place is not None:
                found[place] = node
        return {place: found[place] for place in sorted(found)}

    def made_before(self, owner: KubeObject, place: Place) -> MadeBefore | None:
        """The template of a node that exists."""
        node = self.nodes(owner).get(place)
        return None if node is None else made_as(node)

    def images(self, owner: KubeObject) -> set[str]:
        """The images that its nodes have for their servers."""
        templates = [node.spec.pod_template for node in self.nodes(owner).values()]
        return {image for template in templates if template and (image := server_image(template))}

    def pods(self, owner: KubeObject) -> list[str]:
        """All pods that exist, those of nodes that are gone too."""
        found = self._ground.pods.by_index(BY_OWNER, owner.key.name)
        return [pod.key.name for pod in found if self._is_of(pod, owner)]

    def volumes(self, owner: KubeObject) -> dict[Place, Key]:
        """The claims of its nodes, those of nodes that are gone too, by place."""
        return {place: claim.key for place, claim in self.claims(owner).items()}

    def claims(self, owner: KubeObject) -> dict[Place, ClaimObject]:
        """The same, whole."""
        found: dict[Place, ClaimObject] = {}
        for claim in self._ground.claims.by_index(BY_OWNER, owner.key.name):
            place = self._place_of(owner.key.name, claim.metadata.labels.get(NODE_LABEL, ""))
            if place is not None and self._is_of(claim, owner) and not claim.metadata.deletion_timestamp:
                found[place] = claim
        return found

    def has_own_settings(self, node: Key) -> bool:
        """Whether a user has unbound what its server reads at its start."""
        settings = self._ground.config_maps.get(Key(node.namespace, settings_name(node.name)))
        return settings is not None and is_unbound(settings)

    def is_frozen(self, node: NodeObject) -> bool:
        """Whether its pod is not ours to replace: a user has unbound it, or the workload behind it."""
        workload = self._ground.stateful_sets.get(node.key) or self._ground.deployments.get(node.key)
        return is_unbound(node) or (workload is not None and is_unbound(workload))

    def _is_of(self, found: KubeObject, owner: KubeObject) -> bool:
        """A Valkey and a ValkeyCluster may have the same name."""
        kind = found.metadata.labels.get(KIND_LABEL, self._kind)
        return found.key.namespace == owner.key.namespace and kind == self._kind


def made_as(node: NodeObject) -> MadeBefore | None:
    """The template that a node has, and what its server reads."""
    if node.spec.pod_template is None:
        return None
    return MadeBefore(node.spec.pod_template, node.metadata.annotations.get(TEMPLATE_ANNOTATION), node.directives)
