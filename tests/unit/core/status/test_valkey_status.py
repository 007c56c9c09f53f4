"""What a status says of wishes, restarts and versions."""

from typing import Any

import msgspec

from tests.support.render import OWNER, effective
from tests.support.shards import NOW, a_primary, facts, member, record, replica_of
from valkey_operator.api.shard import PendingChange
from valkey_operator.api.status import Condition, ConditionType
from valkey_operator.api.valkey import ValkeyStatus
from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.core.status.conditions import is_said, news
from valkey_operator.core.status.valkey import Findings, valkey_status

WISH_OPEN, WRITES_STOP = ConditionType.WISH_OPEN, ConditionType.WRITES_STOP


def status_of(shard: ShardFacts, before: ValkeyStatus | None = None, **spec: Any) -> ValkeyStatus:
    found = Findings(owner=OWNER, generation=1, spec=effective(**spec), shard=shard, now=NOW)
    return valkey_status(found, before)


def primary(version: str | None = None, **changes: Any) -> Any:
    return member("x-0", a_primary(version=version), **changes)


def test_an_open_wish_is_a_condition_and_nothing_else_changes() -> None:
    plain = status_of(facts(primary()))
    wished = status_of(msgspec.structs.replace(facts(primary()), wished="x-9"))
    assert (wished.state, wished.reason, wished.message) == (plain.state, plain.reason, plain.message)
    assert (is_said(plain.conditions, WISH_OPEN), is_said(wished.conditions, WISH_OPEN)) == (False, True)


def test_the_restart_of_the_only_node_is_a_condition_while_it_is_due() -> None:
    assert not is_said(status_of(facts(primary())).conditions, WRITES_STOP)
    assert is_said(status_of(facts(primary(stale=True))).conditions, WRITES_STOP)
    with_replica = facts(primary(stale=True), member("x-1", replica_of("x-0")))
    assert not is_said(status_of(with_replica, replicas=2).conditions, WRITES_STOP)


def test_the_version_is_the_last_that_all_servers_had() -> None:
    same = facts(primary("8.1.4"), member("x-1", replica_of("x-0", version="8.1.4")))
    mixed = facts(primary("8.1.4"), member("x-1", replica_of("x-0", version="9.1.2")))
    after = facts(primary("9.1.2"), member("x-1", replica_of("x-0", version="9.1.2")))
    first = status_of(same, replicas=2)
    assert first.version == "8.1.4"
    assert status_of(mixed, first, replicas=2).version == "8.1.4"
    assert status_of(facts(member("x-0"), replicas=0), first, replicas=0).version == "8.1.4"
    assert status_of(after, first, replicas=2).version == "9.1.2"
    assert status_of(mixed, replicas=2).version is None


def said(status: str, reason: str, type_: ConditionType = WISH_OPEN) -> Condition:
    return Condition(type=type_, status=status, reason=reason, message="", last_transition_time="")  # type: ignore[arg-type]


def test_news_are_conditions_that_became_true_or_have_another_reason() -> None:
    old, new = [said("True", "NotInSync")], [said("True", "NoSuchNode")]
    assert news(None, old, WISH_OPEN) == old
    assert news(old, new, WISH_OPEN) == new
    assert news(old, old, WISH_OPEN) == []
    assert news(old, None, WISH_OPEN) == []
    assert news(None, [said("False", "NotInSync")], WISH_OPEN) == []
    assert news(None, old, WRITES_STOP) == []


def test_a_primary_that_is_being_replaced_and_one_without_a_licence_are_told() -> None:
    well = [member("x-1", replica_of("x-0"))]
    pending = PendingChange(epoch=8, reason="x-0 is silent, and its replicas miss it")
    replaced = status_of(facts(member("x-0"), *well, on_record=record(pending=pending)), replicas=2)
    assert (replaced.state, replaced.reason) == ("Degraded", "FailingOver")
    assert "x-0 is being replaced: x-0 is silent, and its replicas miss it." in (replaced.message or "")
    fenced = status_of(facts(member("x-0", a_primary(fenced=True)), *well), replicas=2)
    assert (fenced.state, fenced.reason) == ("Degraded", "NoLicence")
