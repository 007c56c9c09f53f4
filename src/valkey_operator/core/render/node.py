"""A ValkeyNode: what one node of a shard shall be, complete, so that its controller has nothing to decide.

Owns: its manifest. Refuses to know: how many there are, and which is primary.

A pod's template is made once for each roll hash, and kept until the hash changes: another release of the operator would
make another one, with another agent, and must not replace a pod by that. A digest tells a template that was kept from
one that was edited by hand.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from valkey_operator.api.fields import Json
from valkey_operator.core.effective import EffectiveShardZones, EffectiveWorkload
from valkey_operator.core.names import (
    NODE_LABEL,
    ROLE_LABEL,
    ROLL_HASH_ANNOTATION,
    TEMPLATE_ANNOTATION,
    TURN_ANNOTATION,
    Owner,
    is_clustered,
    node_name,
    shard_name,
)
from valkey_operator.core.render.directives import in_zone, with_live_of
from valkey_operator.core.render.objects import Manifest, metadata, without_empty
from valkey_operator.core.render.pod import Site, pod_spec
from valkey_operator.core.render.scheduling import scheduling


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """All that the nodes of one shard are made from."""

    owner: Owner
    labels: Mapping[str, str]
    spec: EffectiveWorkload
    zones: EffectiveShardZones
    directives: Mapping[str, list[str]]
    roll_hash: str
    settings_digest: str
    """Of the directives that a running server takes."""
    site: Site


class MadeBefore(msgspec.Struct, frozen=True):
    """The template that a node has, the digest that was written beside it, and what its server reads."""

    template: Json
    digest: str | None
    directives: Mapping[str, list[str]] = {}


def valkey_node(
    source: NodeSource,
    index: int,
    *,
    is_its_turn: bool = False,
    before: MadeBefore | None = None,
    is_proven: bool = True,
    zone: str | None = None,
) -> Manifest:
    """The node of this index; on its turn its pod may be replaced, if it is of another hash.

    Live settings that are not proven yet are not written down for one that has others. `zone` is where a node of a
    cluster was seen to run.
    """
    owner, spec = source.owner, source.spec
    name = node_name(shard_name(source.labels), index)
    labels = {**source.labels, NODE_LABEL: name}
    kept = before is not None and _is_to_be_kept(before, source.roll_hash)
    template = before.template if before is not None and kept else _template(source, name, index)
    wanted = in_zone(source.directives, zone)
    directives = wanted if is_proven or before is None else with_live_of(before.directives, wanted)
    marks = {TEMPLATE_ANNOTATION: digest_of(template)}
    if is_its_turn:
        marks[TURN_ANNOTATION] = source.roll_hash
    return {
        "metadata": metadata(name, owner, labels, cr=owner.name, annotations=marks),
        "spec": {
            "type": "valkey",
            "podManagementType": spec.pod_management_type,
            "podTemplate": template,
            "persistence": _volume(spec),
            "valkeyConfig": {
                **({"cluster": {"enabled": True}} if is_clustered(source.labels) else {}),
                "directives": {key: list(values) for key, values in directives.items()},
            },
        },
    }


def digest_of(template: Json) -> str:
    """Equal digests: equal templates, whatever the order of their fields."""
    return hashlib.blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=8).hexdigest()


def _is_to_be_kept(before: MadeBefore, roll_hash: str) -> bool:
    marks = before.template.get("metadata", {}).get("annotations", {})
    return marks.get(ROLL_HASH_ANNOTATION) == roll_hash and before.digest == digest_of(before.template)


def _template(source: NodeSource, name: str, index: int) -> Manifest:
    spec = source.spec
    # Services find pods by these; a user's word would send writes to a replica.
    ours = {*source.labels, NODE_LABEL, ROLE_LABEL}
    users_labels = {key: value for key, value in (spec.labels or {}).items() if key not in ours}
    return {
        "metadata": {
            "labels": {**users_labels, **source.labels, NODE_LABEL: name},
            "annotations": {**(spec.annotations or {}), ROLL_HASH_ANNOTATION: source.roll_hash},
        },
        "spec": pod_spec(
            spec,
            source.site,
            labels=source.labels,
            node=name,
            scheduling=scheduling(spec, source.zones, source.labels, index),
        ),
    }


def _volume(spec: EffectiveWorkload) -> dict[str, Any]:
    persistence = spec.persistence
    if not persistence.enabled:
        return {"enabled": False}
    return {
        "enabled": True,
        "size": persistence.size,
        "retention": persistence.retention,
        **without_empty(storageClassName=persistence.storage_class_name),
    }
