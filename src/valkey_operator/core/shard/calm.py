"""Whether Services have followed the last change of a shard's pods, so that they follow the next one at once.

Owns: how long a planned change of primary waits for that. kube-proxy writes its rules once a second at most: where a
pod has just come or is about to go, it has written them already, and clients of the write Service would wait for that
second without a primary. The old primary serves them meanwhile. Refuses to know: why the primary changes.
"""

from datetime import timedelta

from valkey_operator.core.shard.facts import Member, ShardFacts

# A second and a little for the rules, and one more because Kubernetes tells times in whole seconds.
FOLLOWED_AFTER = timedelta(seconds=2.3)
TIME_TO_HAND_OVER = timedelta(seconds=5)
NONE = timedelta()


def calm_in(facts: ShardFacts, primary: Member) -> timedelta:
    """How long until then; nothing where there is no time to wait."""
    if primary.stops_at is not None and primary.stops_at - facts.now < FOLLOWED_AFTER + TIME_TO_HAND_OVER:
        return NONE
    # One that leaves does not wait for others, however often they come and go.
    concerned = [primary] if primary.pod_leaving else facts.members
    return max((_calm_in(facts, member) for member in concerned), default=NONE)


def _calm_in(facts: ShardFacts, member: Member) -> timedelta:
    """A time to come is that of a clock which is ahead of ours: it tells nothing."""
    if member.changed_at is None or member.changed_at > facts.now:
        return NONE
    return max(NONE, member.changed_at + FOLLOWED_AFTER - facts.now)
