"""What pods are called."""

from tests.support.shards import a_primary, facts, member, parked, replica_of
from valkey_operator.core.shard.roles import elected, role_labels


def test_the_primary_on_record_is_called_so_once_it_says_so_itself() -> None:
    assert role_labels(facts(member("x-0", a_primary()), member("x-1", replica_of("x-0")))) == {
        "x-0": "primary",
        "x-1": "replica",
    }
    assert role_labels(facts(member("x-0", replica_of("x-1")), member("x-1", a_primary()))) == {}
    assert role_labels(facts(member("x-0", a_primary(fenced=True)))) == {}


def test_one_that_is_told_to_follow_next_is_a_replica_already() -> None:
    assert role_labels(facts(member("x-0", a_primary()), member("x-1", parked())))["x-1"] == "replica"


def test_a_silent_one_keeps_its_label_unless_it_is_called_primary_and_another_one_is() -> None:
    former, silent = member("x-1", role_label="primary"), member("x-2", role_label="replica")
    assert role_labels(facts(member("x-0", a_primary()), former, silent)) == {"x-0": "primary", "x-1": "unknown"}
    assert role_labels(facts(member("x-0"), former, silent)) == {}


def test_writers_are_led_to_the_primary_on_record_once_it_takes_writes() -> None:
    assert elected(facts(member("x-0", a_primary()), member("x-1", replica_of("x-0")))) == "x-0"
    assert elected(facts(member("x-0", a_primary(fenced=True)), member("x-1", a_primary()))) is None
    assert elected(facts(member("x-0"), member("x-1", a_primary()))) is None
