"""Live settings of a shard: whose server has other ones than the spec asks for, and whether these may be written down.

Owns: who is told, that nothing is written down for the next start which a server that runs has not taken, and what a
person is told of a refusal. Refuses to know: what the settings are, and how a server is told.
"""

import re

from valkey_operator.core.node_settings import has_others, has_taken, may_have_server
from valkey_operator.core.render.directives import Origin
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.validation import Problem, shown

_NAMED = re.compile(r"'([^']+)'")


def to_configure(facts: ShardFacts) -> list[str]:
    """The nodes whose servers answer, and have other live settings than they shall have."""
    ours = [member for member in facts.members if _is_ours(member)]
    return [member.name for member in ours if has_others(member.view, facts.settings_digest)]


def is_proven(facts: ShardFacts) -> bool:
    """Whether the settings may be written down: a server has taken them, or there is none that could be asked."""
    ours = [member for member in facts.members if _is_ours(member)]
    could_be_asked = [each for each in ours if may_have_server(each.view, server_started=each.server_started)]
    return not could_be_asked or any(has_taken(each.view, facts.settings_digest) for each in could_be_asked)


def refused_directive(words: str) -> str | None:
    """The name of the directive that a server's refusal is about."""
    found = _NAMED.search(words)
    return found[1] if found else None


def refusal(node: str, words: str, origin: Origin | None) -> Problem:
    """A directive that a running server refuses, in its own words."""
    said = " ".join(words.removeprefix("ERR ").split()).rstrip(".")
    if origin is None:
        return Problem("spec.config", "refused", f"{node} says: {said}; correct it")
    remedy = "correct it, or remove it" if origin.value is not None else "set it"
    return Problem(origin.field, shown_at(origin), f"{node} refuses it, and keeps what it has: {said}; {remedy}")


def made_otherwise(node: str, read: str, origin: Origin) -> str:
    """What is told of a value that a server took, and made something else of."""
    return f"{origin.field} is {shown_at(origin)}: {node} has made {read} of it."


def shown_at(origin: Origin) -> str:
    """The value of a directive as a person reads it."""
    return "not given" if origin.value is None else shown(origin.value)


def _is_ours(member: Member) -> bool:
    return member.wanted and not member.own_settings
