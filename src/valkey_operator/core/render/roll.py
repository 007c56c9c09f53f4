"""The hash that decides whether a pod must be replaced: it covers what a user decided and a restart needs, no more.

Owns: which fields those are. Made from the effective spec, never from manifests: another operator renders other
manifests, and must not restart a fleet by that. The agent's image is left out for the same reason.
A golden test pins the value; a change of this module that changes it restarts every pod of every user.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from valkey_operator.core.effective import EffectiveCluster, EffectiveShardZones, EffectiveWorkload
from valkey_operator.valkey.config_keys import MIN_REPLICAS_TO_WRITE, is_live

_FIELDS = (
    "image",
    "imagePullSecrets",
    "resources",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "labels",
    "annotations",
    "securityContext",
    "priorityClassName",
    "terminationGracePeriodSeconds",
    "modules",
)


def roll_hash(spec: EffectiveWorkload, zones: EffectiveShardZones, directives: Mapping[str, list[str]]) -> str:
    """Equal hashes: the pod may stay."""
    values = msgspec.to_builtins(spec)
    decided = {field: values[field] for field in _FIELDS if values.get(field) not in (None, {}, [])}
    exporter, is_told_of_terms = spec.exporter, not isinstance(spec, EffectiveCluster)
    covered = {
        **decided,
        # An empty list loads no module, none at all loads the image's own.
        "modules": values.get("modules"),
        "sidecar": msgspec.to_builtins(spec.sidecar.resources),
        "zones": [zones.node_label, zones.replica_strategy, zones.primary_zone, zones.replica_zones],
        "exporter": [exporter.image, exporter.resources, exporter.port] if exporter.enabled else None,
        "auth": msgspec.to_builtins(spec.auth),
        "directives": {
            name: values for name, values in directives.items() if not _takes_effect_live(name, is_told_of_terms)
        },
    }
    text = msgspec.json.encode(covered, order="deterministic")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _takes_effect_live(directive: str, is_told_of_terms: bool) -> bool:
    # The replicas that a write needs are among the terms of writing, of which a primary on record is told. So are nodes
    # of a cluster, but not by every agent, and another hash would restart them all.
    return is_live(directive) or (is_told_of_terms and directive == MIN_REPLICAS_TO_WRITE)
