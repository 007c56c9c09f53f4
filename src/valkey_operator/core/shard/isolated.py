"""A primary that its replicas miss, while the operator reaches all of them.

Owns: when it is to be replaced: it refuses writes for want of replicas, and they would not.
Refuses to know: how that is done (failover.py).
"""

from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import Member, ShardFacts, is_unbroken, runs_as
from valkey_operator.core.shard.quorum import heirs_needed
from valkey_operator.core.shard.terms import terms_of
from valkey_operator.valkey.info import Role


def lacks_replicas(view: NodeView | None) -> bool:
    """Whether a primary refuses writes by itself, because too few replicas follow it."""
    if view is None or view.terms is None or view.good_replicas is None or not runs_as(view, Role.PRIMARY):
        return False
    return view.good_replicas < view.terms.least_replicas


def is_isolated(facts: ShardFacts, primary: Member) -> bool:
    """Whether enough of its replicas miss it to take over, and to let one of them write.

    Those have its present history: who was promoted for this very reason, and has met nobody since, is not replaced
    again, for the next one would not fare better.
    """
    view = primary.view
    if not facts.writing.half_attached or view is None or not lacks_replicas(view):
        return False
    listed = [facts.member(name) for name in facts.record.promotable or ()]
    able = [each for each in listed if each is not None and _misses_what_it_has(each.view, view)]
    return len(able) >= heirs_needed(facts) and len(able) > terms_of(facts).least_replicas


def _misses_what_it_has(view: NodeView | None, primary: NodeView) -> bool:
    return (
        view is not None and view.misses_primary and is_unbroken(view) and view.replication_id == primary.replication_id
    )
