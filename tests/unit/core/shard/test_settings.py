"""Live settings of a shard: who is told, when they may be written down, and what a refusal says."""

import msgspec
import pytest

from tests.support.shards import a_primary, facts, in_state, member, replica_of, waiting
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.render.directives import Origin
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.shard.settings import is_proven, made_otherwise, refusal, refused_directive, to_configure
from valkey_operator.valkey.states import Health, ProcessState

WANTED, FORMER = "wanted", "former"
NAMES_IT = "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value"


def shard(*members: Member) -> ShardFacts:
    return msgspec.structs.replace(facts(*members), settings_digest=WANTED)


def having(digest: str | None) -> NodeView:
    return a_primary(settings_digest=digest)


class TestWhoIsTold:
    """Those that answer, and have others."""

    def test_a_server_that_has_the_wanted_settings_is_left_alone(self) -> None:
        assert to_configure(shard(member("x-0", having(WANTED)))) == []

    def test_every_server_that_has_others_or_may_have_is_told(self) -> None:
        replica = replica_of("x-0", settings_digest="")
        assert to_configure(shard(member("x-0", having(FORMER)), member("x-1", replica))) == ["x-0", "x-1"]

    @pytest.mark.parametrize(
        "view",
        [
            None,
            waiting(),
            in_state(ProcessState.STARTING),
            in_state(ProcessState.GONE),
            a_primary(health=Health.LOADING, settings_digest=FORMER),
            a_primary(health=Health.HUNG, settings_digest=FORMER),
            having(None),
        ],
        ids=["silent", "waiting", "starting", "gone", "loading", "hung", "does not tell"],
    )
    def test_one_that_cannot_take_them_now_is_not(self, view: NodeView | None) -> None:
        assert to_configure(shard(member("x-0", view))) == []

    def test_one_that_goes_or_that_a_user_has_taken_is_not(self) -> None:
        going = member("x-1", having(FORMER), wanted=False)
        taken = member("x-0", having(FORMER), own_settings=True)
        assert to_configure(shard(taken, going)) == []


class TestWhatIsWrittenDown:
    """Nothing that a server might refuse."""

    def test_settings_that_a_server_has_taken_are(self) -> None:
        assert is_proven(shard(member("x-0", having(FORMER)), member("x-1", having(WANTED))))

    def test_settings_that_nobody_has_taken_yet_are_not(self) -> None:
        assert not is_proven(shard(member("x-0", having(FORMER))))
        assert not is_proven(shard(member("x-0", a_primary(health=Health.HUNG, settings_digest=FORMER))))

    def test_nor_while_a_server_starts_or_may_run_unheard(self) -> None:
        assert not is_proven(shard(member("x-0", in_state(ProcessState.STARTING))))
        assert not is_proven(shard(member("x-0", None, server_started=True)))

    @pytest.mark.parametrize("view", [None, waiting(), in_state(ProcessState.GONE), having(None)])
    def test_where_nobody_can_be_asked_they_are(self, view: NodeView | None) -> None:
        assert is_proven(shard(member("x-0", view, server_started=False)))
        assert is_proven(shard())


class TestRefusal:
    """Field, value, and the server's words."""

    def test_the_directive_is_found_in_the_words(self) -> None:
        assert refused_directive(NAMES_IT) == "maxmemory"
        assert refused_directive("ERR Unknown option or number of arguments for CONFIG SET - 'foo'") == "foo"
        assert refused_directive("NOPERM this user has no permissions") is None

    def test_field_value_node_and_words_are_told(self) -> None:
        problem = refusal("x-0", NAMES_IT, Origin("spec.config.maxmemory", "lots"))
        assert problem.sentence() == (
            "spec.config.maxmemory is 'lots': x-0 refuses it, and keeps what it has: CONFIG SET failed (possibly "
            "related to argument 'maxmemory') - argument must be a memory value; correct it, or remove it"
        )

    def test_a_built_in_value_that_is_refused_has_to_be_set(self) -> None:
        problem = refusal("x-0", "ERR no 'maxclients'", Origin("spec.config.maxclients", None))
        assert problem.sentence().startswith("spec.config.maxclients is not given: x-0 refuses it")
        assert problem.sentence().endswith("; set it")

    def test_a_value_that_became_another_is_told_with_both(self) -> None:
        sentence = made_otherwise("x-0", "500", Origin("spec.config.hz", 1000))
        assert sentence == "spec.config.hz is 1000: x-0 has made 500 of it."

    def test_words_that_name_nothing_are_told_as_they_are(self) -> None:
        assert "NOPERM" in refusal("x-0", "NOPERM no way.", None).sentence()
