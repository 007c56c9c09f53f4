"""How a primary of the model comes by its leave to write: from replicas, the operator, or the record.

Owns: who is asked in which order, and who reaches whom. Refuses to know: what leave is worth (the agent's licence.py),
and what a leader answers.
"""

from collections.abc import Callable

import msgspec

from tests.sim.shard_agents import Agent, Machine
from tests.sim.shard_pods import Place, Pod
from valkey_operator.agent.promise import Given
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.valkey.terms import Terms

LEASE_S = 6.0
ANSWER_WITHIN = 2.0
"""How long an agent waits for the API server."""

AskOperator = Callable[[str, int, str], bool]


class Lease:
    """The operator's: who does not see it change for as long as it lasts takes it for free."""

    def __init__(self) -> None:
        self.version = 0
        self.renewed_at = -LEASE_S
        self.holder: int | None = None

    def renew(self, holder: int | None, now: float) -> None:
        self.version, self.holder, self.renewed_at = self.version + 1, holder, now

    def is_free(self, now: float) -> bool:
        return self.holder is None or now - self.renewed_at > LEASE_S


class Leave:
    """For all nodes of a world. `asks_operator` is whether the leader, if there is one, lets a node write."""

    # What agents must not do, and do where test_interleavings.py switches a rule off:
    starts_against_terms = False
    """Start as primary by a record that names nobody who could take over, though its terms do, which may be newer."""
    who_did_not_park_is_mute = False
    """Ask nobody for leave once told to park, though the server hung and is primary still."""
    counts_from_the_record = False
    """Count leave by the record from when that was asked for, and not from when the Lease was."""

    counts_from_the_order = False
    """Count leave that comes with an order from when that came, and not from the report that it answers."""

    def __init__(self, places: dict[str, Place], record: Callable[[], ValkeyShardSpec | None]) -> None:
        self._places = places
        self._record = record
        self.lease = Lease()
        self.ask_operator: AskOperator = lambda _node, _epoch, _uid: False
        self.is_slow: Callable[[], bool] = lambda: False
        """Whether time passes between two questions of the same agent."""
        self.ghosts_grant = False
        """Whether the ghost of a replica lets a primary write that is still linked to it. It does, and the planner does
        not know: it takes the new pod of that node for the one that granted. See there."""

    def beat(self, pod: Pod, now: float) -> None:
        """What an agent does all the time: ask replicas; others only when those do not suffice."""
        if self._is_to_write(pod):
            self.ask_replicas(pod, pod.agent.terms, now)
            if pod.agent.promise.terms is not None and pod.agent.runs_short(now):
                self.seek(pod, pod.agent.terms, now)

    def _is_to_write(self, pod: Pod) -> bool:
        promise, server = pod.agent.promise, pod.server
        is_bound = server is not None and server.is_primary and promise.terms is not None
        return promise.given is Given.PRIMARY or (is_bound and not self.who_did_not_park_is_mute)

    def accept(self, pod: Pod, terms: Terms, now: float) -> bool:
        """Be bound by these terms, if it may write by them."""
        agent = pod.agent
        self.ask_replicas(pod, terms, now)
        if not agent.may_write(terms, now):
            self.seek(pod, terms, now)
        if not agent.may_write(terms, now):
            return False
        alone = agent.promise.alone and not any(terms.sets)
        agent.keep(msgspec.structs.replace(agent.promise, terms=terms, alone=alone), pod.server, now)
        return True

    def ask_replicas(self, pod: Pod, terms: Terms, now: float) -> None:
        agent = pod.agent
        wanted = {name for members in (*terms.sets, *agent.terms.sets) for name in members}
        agent.links = {name: link for name, link in agent.links.items() if name in wanted}
        for name in sorted(wanted):
            asked = self._link(agent, name)
            if asked is not None and asked.grant(agent.promise.epoch, terms.missed_after_ms / 1000, now):
                agent.take(replicas={**agent.of_this_epoch().replicas, name: now})

    def _link(self, agent: Agent, name: str) -> Agent | None:
        """One that is there stays, whoever has the name by now; else the present pod is found."""
        found = agent.links.get(name)
        if found is not None and found.haunts and not self.ghosts_grant:
            found = None
        if found is None or not (found.runs and reach(agent.machine, found.machine)):
            present = self._places[name].pod
            found = present.agent if present is not None else None
        if found is None or not (found.runs and reach(agent.machine, found.machine)):
            agent.links.pop(name, None)
            return None
        agent.links[name] = found
        return found

    def seek(self, pod: Pod, terms: Terms, now: float) -> None:
        agent, record = pod.agent, None if pod.agent.machine.off_api else self._record()
        is_ours = record is not None and self._is_unchanged(record, pod)
        if not any(terms.sets) and is_ours and record is not None and not record.promotable:
            agent.keep(msgspec.structs.replace(agent.promise, alone=True), pod.server, now)
        elif not agent.machine.off_operator and self.ask_operator(pod.node, agent.promise.epoch, pod.uid):
            agent.take(operator=now)
        elif (asked_at := self._without_operator_at(agent, now)) is not None and is_ours:
            agent.take(record=now if self.counts_from_the_record else asked_at)

    def _is_unchanged(self, record: ValkeyShardSpec, pod: Pod) -> bool:
        return (record.primary, record.epoch, record.pending) == (pod.node, pod.agent.promise.epoch, None)

    def _without_operator_at(self, agent: Agent, now: float) -> float | None:
        """When the Lease was found free; it may have been asked for a while before the record."""
        if agent.machine.off_api:
            return None
        if (asked_at := agent.no_operator_since) is not None:
            if self.is_slow() and now - asked_at < ANSWER_WITHIN:
                return None
            agent.no_operator_since = None
            return asked_at
        if self.lease.version != agent.lease_seen[0]:
            agent.lease_seen = (self.lease.version, now)
        is_free = self.lease.holder is None or now - agent.lease_seen[1] > LEASE_S
        if is_free and self.is_slow():
            agent.no_operator_since = now
            return None
        return now if is_free else None


def reach(one: Machine, other: Machine) -> bool:
    return one is other or one.zone == other.zone
