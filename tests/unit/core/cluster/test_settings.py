"""Live settings of a cluster: who is told, and when they may be written down."""

from typing import Any

import msgspec

from tests.support.clusters import World, facts, formed, with_node
from valkey_operator.core.cluster.facts import ClusterFacts
from valkey_operator.core.cluster.settings import is_proven, to_configure


def having(digests: dict[str, str | None], shall_have: str | None = "new", **member: Any) -> ClusterFacts:
    """A cluster in which these nodes' servers have these settings, and all others have told of none."""
    world: World = formed()
    for name in digests:
        world = with_node(world, name, member={"settings_digest": shall_have, **member})
    known = facts(world)
    members = tuple(
        msgspec.structs.replace(each, view=msgspec.structs.replace(each.view, settings_digest=digests[each.name]))
        if each.name in digests and each.view
        else each
        for each in known.members
    )
    return msgspec.structs.replace(known, members=members)


def test_those_that_have_others_are_told_whatever_their_shard() -> None:
    assert to_configure(having({"c-0-0": "old", "c-1-1": "old", "c-2-0": "new"})) == ["c-0-0", "c-1-1"]


def test_one_whose_settings_are_not_ours_is_left_alone() -> None:
    assert to_configure(having({"c-0-0": "old"}, shall_have=None)) == []


def test_one_that_shall_go_is_left_alone() -> None:
    assert to_configure(having({"c-0-1": "old"}, wanted=False)) == []


def test_settings_are_proven_once_one_server_has_taken_them() -> None:
    assert not is_proven(having({"c-0-0": "old", "c-1-0": "old"}))
    assert is_proven(having({"c-0-0": "old", "c-1-0": "new"}))


def test_where_no_server_could_be_asked_they_are_written_down() -> None:
    assert is_proven(having({"c-0-0": None}))
    assert is_proven(facts({}))


def test_a_server_that_was_not_heard_of_but_started_could_be_asked() -> None:
    world = with_node(formed(), "c-0-0", process=None, member={"settings_digest": "new", "server_started": True})
    assert not is_proven(facts(world))
