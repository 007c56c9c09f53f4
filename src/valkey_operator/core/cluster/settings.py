"""Live settings of a cluster: whose server has other ones than it shall have, and whether these may be written down.

Owns: who is told, over all shards. Nodes in different zones shall have different ones, so each member brings its own
digest. Refuses to know: what the settings are, and how a server is told.
"""

from valkey_operator.core.cluster.facts import ClusterFacts
from valkey_operator.core.node_settings import has_others, has_taken, may_have_server


def to_configure(facts: ClusterFacts) -> list[str]:
    """The nodes whose servers answer, and have other live settings than they shall have."""
    return [
        each.name
        for each in facts.members
        if each.wanted and each.settings_digest is not None and has_others(each.view, each.settings_digest)
    ]


def is_proven(facts: ClusterFacts) -> bool:
    """Whether the settings may be written down: a server has taken its own, or there is none that could be asked."""
    asked = [
        (each.view, each.settings_digest)
        for each in facts.members
        if each.wanted
        and each.settings_digest is not None
        and may_have_server(each.view, server_started=each.server_started)
    ]
    return not asked or any(has_taken(view, digest) for view, digest in asked)
