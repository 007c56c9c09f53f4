"""Every node's view, merged: what is true, what is disputed, and who has not spoken."""

from tests.support.clusters import all_nodes, facts, formed, id_of, slots, with_node
from valkey_operator.core.cluster.roles import doubted, look_at
from valkey_operator.core.cluster.view import merge_views
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS, NO_SLOTS
from valkey_operator.valkey.states import ProcessState


def test_nodes_that_say_the_same_make_an_agreed_view() -> None:
    view = merge_views(facts(formed()))
    assert view.is_agreed
    assert (view.assigned, view.unassigned, view.open_slots) == (ALL_SLOTS, NO_SLOTS, NO_SLOTS)
    assert view.ids == {name: id_of(name) for name in formed()}


def test_a_node_that_does_not_speak_makes_the_view_partial_and_others_tell_of_it() -> None:
    view = merge_views(facts(with_node(formed(), "c-0-0", process=None, failing=Failing.AGREED)))
    assert (view.is_partial, view.missing) == (True, ("c-0-0",))
    truth = view.nodes[id_of("c-0-0")]
    assert (truth.member, truth.slots, truth.failed_for) == ("c-0-0", slots("0-5461"), frozenset(view.spoke))


def test_of_itself_a_node_knows_best() -> None:
    """A slot has moved; a third one has not heard of it."""
    world = with_node(formed(), "c-0-0", slots=slots("1-5461"))
    world = with_node(world, "c-1-0", slots=slots("0 5462-10922"), epoch=9)
    before = {"c-0-0": {"slots": slots("0-5461")}, "c-1-0": {"slots": slots("5462-10922")}}
    view = merge_views(facts(with_node(world, "c-2-0", sees=before)))
    assert view.nodes[id_of("c-1-0")].slots == slots("0 5462-10922")
    assert (view.dissenters, view.disputed) == (("c-2-0",), NO_SLOTS)


def test_of_two_who_claim_a_slot_the_one_with_the_higher_epoch_has_it() -> None:
    world = with_node(formed(), "c-1-0", slots=slots("0 5462-10922"), epoch=9)
    view = merge_views(facts(world))
    assert view.nodes[id_of("c-1-0")].slots == slots("0 5462-10922")
    assert view.nodes[id_of("c-0-0")].slots == slots("1-5461")
    assert view.disputed == slots("0")


def test_the_old_claim_of_a_silent_node_is_no_dispute() -> None:
    world = with_node(formed(), "c-0-0", process=None)
    world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
    view = merge_views(facts(world))
    assert (view.disputed, view.nodes[id_of("c-0-1")].slots) == (NO_SLOTS, slots("0-5461"))


def test_in_one_epoch_a_member_comes_before_an_id_that_nobody_lives_under() -> None:
    """Its server had lost its disk when only one had heard of its epoch; the others elected its heir in the same."""
    lost = {"c-0-1": {"id": "0" * 40, "slots": slots("0-5461"), "epoch": 9}, "c-0-0": {"slots": NO_SLOTS}}
    world = with_node(with_node(formed(), "c-0-0", epoch=9), "c-1-0", sees=lost)
    view = merge_views(facts(world))
    assert view.nodes[id_of("c-0-0")].slots == slots("0-5461")
    assert (view.dissenters, [(each.id, each.slots) for each in view.strangers()]) == (
        ("c-1-0",),
        [("0" * 40, NO_SLOTS)],
    )


def test_a_slot_that_nobody_claims_is_unassigned() -> None:
    assert merge_views(facts(with_node(formed(), "c-0-0", slots=slots("0-99")))).unassigned == slots("100-5461")


def test_who_suspects_whom_is_kept() -> None:
    doubt = {"c-2-1": {"failing": Failing.SUSPECTED}}
    view = merge_views(facts(with_node(formed(), "c-0-0", sees=doubt)))
    assert view.nodes[id_of("c-2-1")].suspected_by == {"c-0-0"}


def test_primaries_with_one_epoch_collide() -> None:
    view = merge_views(facts(with_node(formed(), "c-1-0", epoch=1)))
    assert [[node.member for node in nodes] for nodes in view.collisions()] == [["c-0-0", "c-1-0"]]


def test_an_id_that_is_no_members_is_a_stranger() -> None:
    view = merge_views(facts(with_node(formed(), "intruder", epoch=4)))
    assert [node.hostname for node in view.strangers()] == ["intruder"]


def test_a_member_that_lost_its_file_is_known_by_its_new_id_and_the_old_one_is_a_stranger() -> None:
    world = with_node(formed(), "c-0-1", id="f" * 40)
    former = {"c-0-1": {"id": id_of("c-0-1")}}
    world = with_node(world, "c-2-0", sees=former)
    view = merge_views(facts(world))
    assert view.ids["c-0-1"] == "f" * 40
    assert [node.id for node in view.strangers()] == [id_of("c-0-1")]


def test_open_slots_are_told_by_primaries_alone() -> None:
    world = with_node(formed(), "c-0-0", gives={7: "c-1-0"})
    world = with_node(world, "c-0-1", gives={7: "c-1-0"})
    world = with_node(world, "c-1-0", takes={7: "c-0-0"})
    view = merge_views(facts(world))
    assert view.giving == {("c-0-0", id_of("c-1-0")): slots("7")}
    assert view.taking == {("c-1-0", id_of("c-0-0")): slots("7")}


def test_where_nobody_runs_the_files_tell_and_nobody_has_spoken() -> None:
    view = merge_views(facts(all_nodes(formed(), process=ProcessState.WAITING)))
    assert (view.spoke, view.is_partial, view.assigned) == ((), True, ALL_SLOTS)


def test_a_replica_has_the_epoch_of_its_primary_and_collides_with_nobody() -> None:
    view = merge_views(facts(formed()))
    truth = view.nodes[id_of("c-1-1")]
    assert (truth.role, truth.primary, truth.epoch) == (Role.REPLICA, id_of("c-1-0"), 2)
    assert view.collisions() == []


def test_one_that_runs_by_its_own_word_and_is_not_heard_by_others_is_doubted() -> None:
    world = with_node(formed(), "c-0-0", sees={"c-1-0": {"failing": Failing.SUSPECTED}})
    assert doubted(look_at(facts(world))) == ["c-1-0"]


def test_one_that_has_not_spoken_is_doubted_no_more() -> None:
    silent = with_node(formed(), "c-1-0", process=None, failing=Failing.AGREED)
    assert doubted(look_at(facts(silent))) == []
