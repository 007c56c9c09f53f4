"""One Valkey while it is reconciled: its spec with all that this refers to, what is wrong with it, and its shard.

Owns: how a case is opened, and the look at its shard at any moment. Refuses to know: what is done about it.
"""

from dataclasses import dataclass, field

from valkey_operator.controllers.kinds import ShardObject, ValkeyObject
from valkey_operator.controllers.references import References
from valkey_operator.controllers.valkey_facts import ShardView, ValkeyGround, owner_of, writing_rules
from valkey_operator.controllers.valkey_objects import ValkeyObjects
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import shard_labels
from valkey_operator.core.render.directives import ConfigMaps, directives_for
from valkey_operator.core.render.node import NodeSource
from valkey_operator.core.render.pod import Site
from valkey_operator.core.render.roll import roll_hash
from valkey_operator.core.validation import Problem, check_change, check_supported, check_valkey
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.live import live_settings, settings_digest


@dataclass(frozen=True, kw_only=True)
class Case:
    """One Valkey while it is reconciled."""

    valkey: ValkeyObject
    spec: EffectiveValkey
    source: NodeSource
    maps: ConfigMaps
    wrong: list[Problem]
    """What can be seen in the spec, and in the versions that run."""
    refused: list[Problem] = field(default_factory=list)
    """Found on the way: what a running server does not take."""
    conflicts: list[str] = field(default_factory=list)
    """Found on the way: what is needed and belongs to somebody else."""

    @property
    def problems(self) -> list[Problem]:
        """Why the spec cannot be carried out."""
        return [*self.wrong, *self.refused]

    @property
    def key(self) -> Key:
        """Which one."""
        return self.valkey.key


@dataclass(frozen=True, kw_only=True)
class End:
    """How one part of a reconcile went, or all of them together."""

    waits_for: str | None = None
    look_after_s: float | None = None
    refused: str | None = None
    retry: TransientError | None = None


class Cases:
    """For one term."""

    def __init__(self, facts: ValkeyGround, objects: ValkeyObjects, references: References, site: Site) -> None:
        self._facts = facts
        self._objects = objects
        self._references = references
        self._site = site

    async def open(self, valkey: ValkeyObject) -> Case:
        """With everything that can be known before servers are asked."""
        spec = self._facts.effective(valkey)
        maps, missing = await self._references.read(valkey.key, spec)
        existing = [node.spec for node in self._facts.nodes(valkey).values()]
        problems = [
            *missing,
            *check_supported(spec),
            *check_valkey(valkey.key.name, spec, maps=maps),
            *check_change(existing, spec),
        ]
        source = self._source(valkey, spec, maps)
        return Case(valkey=valkey, spec=spec, source=source, maps=maps, wrong=problems)

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._references.forget(key)

    def _source(self, valkey: ValkeyObject, spec: EffectiveValkey, maps: ConfigMaps) -> NodeSource:
        directives = directives_for(spec, maps)
        return NodeSource(
            owner=owner_of(valkey),
            labels=shard_labels("Valkey", valkey.key.name),
            spec=spec,
            zones=spec.az_distribution,
            directives=directives,
            roll_hash=roll_hash(spec, spec.az_distribution, directives),
            settings_digest=settings_digest(live_settings(directives)),
            site=self._site,
        )

    def record(self, case: Case) -> ShardObject | None:
        """The record, if it is this Valkey's."""
        record = self._objects.shards.store.get(case.key)
        return record if record is not None and self._objects.is_record_of(record, case.source.owner) else None

    def look(self, case: Case) -> ShardView | None:
        """The shard at this moment, if it has a record."""
        record = self.record(case)
        return None if record is None else self.view(case, record)

    def view(self, case: Case, record: ShardObject) -> ShardView:
        """The shard at this moment, by this record."""
        existing = self._facts.nodes(case.valkey)
        # A spec that cannot be carried out leaves everything as it is.
        replicas = max(existing, default=-1) + 1 if case.problems else case.spec.replicas
        writing = writing_rules(case.spec)
        return self._facts.shard(case.valkey, case.source, record.spec, writing=writing, replicas=replicas)
