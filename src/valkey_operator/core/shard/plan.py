"""The next steps of a shard: first who is primary, then that everybody follows it, then what else is wished for.

Owns: the order of these questions. Each answer is a function of its own; the first that has something to do decides.
Refuses to know: how steps are carried out, and who asks.

The record says who is primary. It changes only by compare-and-swap, and always before any server is told.
"""

import msgspec

from valkey_operator.core.shard.facts import (
    Member,
    ShardFacts,
    follows,
    has_no_server,
    is_in_sync_with,
    runs_as,
    waits_at_gate,
)
from valkey_operator.core.shard.failover import carry_on, lost_primary
from valkey_operator.core.shard.lost_record import running_primary
from valkey_operator.core.shard.parting import part, stays_parked, still_counts
from valkey_operator.core.shard.primary import after_restart, first_primary, without_primary
from valkey_operator.core.shard.promotion import promotion
from valkey_operator.core.shard.proof import has_ended
from valkey_operator.core.shard.steps import (
    Bind,
    Follow,
    Open,
    Reason,
    ShardPlan,
    Step,
    SwapRecord,
)
from valkey_operator.core.shard.switchover import begin_switchover, continue_switchover
from valkey_operator.core.shard.terms import terms_between, terms_of
from valkey_operator.core.shard.wished import remember_wish
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.terms import Terms


def plan_shard(facts: ShardFacts) -> ShardPlan:
    """What to do next; the same facts give the same plan."""
    if facts.replicas == 0 or not facts.members:
        return ShardPlan()
    if facts.record.primary is None:
        return running_primary(facts) or first_primary(facts)
    primary = facts.member(facts.record.primary)
    if primary is None:
        return without_primary(facts)
    if facts.record.pending is not None:
        return carry_on(facts, primary, facts.record.pending)
    return lost_primary(facts, primary) or _plan_around(facts, primary)


def _plan_around(facts: ShardFacts, primary: Member) -> ShardPlan:
    if facts.record.operation is not None:
        return continue_switchover(facts, facts.record.operation)
    if has_no_server(primary.view) or (primary.view is None and has_ended(facts, primary)):
        return _start(facts, primary) or after_restart(facts, primary)
    if runs_as(primary.view, Role.REPLICA):
        return _promote(facts, primary) or after_restart(facts, primary)
    if runs_as(primary.view, Role.PRIMARY):
        return _converge(facts, primary)
    return ShardPlan(waits_for=f"primary {primary.name}: {_describe(primary)}")


def _start(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    """A primary that nobody can replace starts with what it has, once it stands at the gate."""
    if facts.record.promotable:
        return None
    if not waits_at_gate(primary.view):
        return ShardPlan(waits_for=f"the server of {primary.name} to be started again")
    return ShardPlan(
        steps=(
            Open(
                node=primary.name,
                kind=StartKind.WRITABLE_PRIMARY,
                terms=terms_of(facts),
            ),
        )
    )


def _promote(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    """The recorded primary is still a replica: make it what it is, unless its data are not the ones that were meant."""
    view, record = primary.view, facts.record
    if view is None or view.replication_id is None:
        return None
    expected = record.replication_id or view.replication_id
    least = (record.first_offset or 0) if record.replication_id else 0
    if view.replication_id != expected or view.offset < least:
        return None
    return ShardPlan(steps=promotion(facts, primary, replication_id=expected, at_least_offset=least))


def _converge(facts: ShardFacts, primary: Member) -> ShardPlan:
    """The primary is one: everybody else follows it, and the record tells who could take over."""
    orders, listed = _followers(facts, primary), facts.record.promotable or []
    fit = _promotable(facts, primary)
    # Who cannot take over any more is taken off the list before it is told anything; who is new waits for all that.
    left = [name for name in fit if name in listed]
    if upkeep := _upkeep(facts, primary, left) or remember_wish(facts):
        return ShardPlan(steps=(*orders, *upkeep) if len(left) == len(listed) else (*upkeep, *orders))
    if steps := (*orders, *_upkeep(facts, primary, fit)):
        return ShardPlan(steps=steps)
    return part(facts, primary) or begin_switchover(facts, primary) or ShardPlan(waits_for=_laggards(facts, primary))


def _followers(facts: ShardFacts, primary: Member) -> list[Step]:
    steps: list[Step] = []
    for member in facts.others(primary.name):
        if primary.address is None:
            continue
        if waits_at_gate(member.view):
            steps.append(Open(node=member.name, kind=StartKind.REPLICA, primary=primary.address))
        elif _should_follow(member, primary) and not stays_parked(facts, member):
            steps.append(Follow(node=member.name, primary=primary.address))
    return steps


def _should_follow(member: Member, primary: Member) -> bool:
    runs = runs_as(member.view, Role.PRIMARY) or runs_as(member.view, Role.REPLICA)
    return runs and not follows(member.view, primary.address)


def _upkeep(facts: ShardFacts, primary: Member, promotable: list[str]) -> list[Step]:
    """The record's list of replicas that could take over, the history they share, and the primary's terms by it."""
    record, view = facts.record, primary.view
    if view is None:
        return []
    listed = record.promotable or []
    same_history = record.replication_id == view.replication_id
    same_pod = record.primary_pod == primary.pod_uid or not promotable
    if promotable == listed and same_history and same_pod:
        return _bind(primary, view.terms, terms_of(facts))
    changed = msgspec.structs.replace(
        record,
        primary_pod=primary.pod_uid,
        promotable=promotable or None,
        replication_id=view.replication_id,
        first_offset=record.first_offset if same_history else view.offset,
    )
    message = f"{', '.join(promotable) or 'nobody'} could take over from {primary.name}"
    between = terms_between(facts, listed, promotable)
    # It may have died since: then who is taken off has the only whole copy. A server that is gone takes no terms.
    must_say_that_it_runs = not set(listed) <= set(promotable)
    return [
        *_bind(primary, None if must_say_that_it_runs else view.terms, between),
        SwapRecord(record=changed, reason=Reason.MEMBERS_CHANGED, message=message),
        *_bind(primary, between, terms_between(facts, promotable, promotable)),
    ]


def _bind(primary: Member, before: Terms | None, after: Terms) -> list[Step]:
    return [] if before == after else [Bind(node=primary.name, terms=after)]


def _promotable(facts: ShardFacts, primary: Member) -> list[str]:
    listed, others = set(facts.record.promotable or ()), facts.others(primary.name)
    # Who shall go may have the last whole copy: until one that stays has it, too.
    all_stay = facts.replicas > 1 and not any(each.wanted and is_in_sync_with(each.view, primary) for each in others)
    return [
        member.name
        for member in others
        if (
            (member.wanted or all_stay)
            and not stays_parked(facts, member)
            and _may_take_over(member, primary, listed=member.name in listed)
        )
        or still_counts(facts, primary, member)
    ]


def _may_take_over(member: Member, primary: Member, *, listed: bool) -> bool:
    """In sync; or listed before, and nothing was heard since that would speak against it."""
    if is_in_sync_with(member.view, primary):
        return True
    return listed and (member.view is None or member.view.whole)


def _laggards(facts: ShardFacts, primary: Member) -> str | None:
    behind = [m.name for m in facts.others(primary.name) if m.wanted and not is_in_sync_with(m.view, primary)]
    return f"{', '.join(behind)} to be in sync with {primary.name}" if behind else None


def _describe(member: Member) -> str:
    view = member.view
    if view is None and not member.pod_ready:
        return "its pod is starting" if member.pod_uid else "it has no pod yet"
    if view is None:
        return "nothing is heard of it"
    if view.health is None:
        return f"its server is {view.process}"
    return f"its server is {view.process}, {view.health}"
