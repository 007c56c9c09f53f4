"""What this node has promised: to refuse older leaders and epochs, and to be what it was told to be.

Owns: the promise, and its form on file. Refuses to know: which order led to it (orders.py).
"""

import enum

import msgspec

from valkey_operator.valkey.boot import StartKind


class Given(enum.StrEnum):
    """The role that the server was last given. ANY: whichever it has; NONE: to be neither, but to park or be fenced."""

    ANY = "any"
    PRIMARY = "primary"
    REPLICA = "replica"
    NONE = "none"


class Promise(msgspec.Struct, frozen=True):
    """The highest term and epoch an order was accepted for, older ones are refused for good; and the role given."""

    term: int = 0
    epoch: int = 0
    given: Given = Given.ANY


def given_by_start(kind: StartKind | None) -> Given:
    """The role that a start gives."""
    if kind is StartKind.WRITABLE_PRIMARY:
        return Given.PRIMARY
    return Given.REPLICA if kind is StartKind.REPLICA else Given.NONE


def render_promise(promise: Promise) -> str:
    """A promise as it is kept on file."""
    return msgspec.json.encode(promise).decode()


def parse_promise(text: str) -> Promise:
    """Read a promise back; raises ValueError for what nobody promised."""
    return msgspec.json.decode(text, type=Promise)
