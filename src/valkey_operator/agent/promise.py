"""What this node has promised: to refuse older leaders and epochs, and to be what it was told to be.

Owns: the promise, and its form on file. Refuses to know: which order led to it (orders.py).
"""

import enum

import msgspec

from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.terms import Terms


class Given(enum.StrEnum):
    """The role that the server was last given. ANY: whichever it has; NONE: to be neither, but to park or be fenced."""

    ANY = "any"
    PRIMARY = "primary"
    REPLICA = "replica"
    NONE = "none"


class Promise(msgspec.Struct, frozen=True):
    """The highest term and epoch an order was accepted for, older ones are refused for good; and the role given.

    `granted` is the highest epoch that a primary was let write in, and `missed_after_ms` after how long without asking
    again that leave is over for certain. `terms` are those that it is bound by, as a primary or as a cluster node;
    `alone`: the record names nobody who could take over, which cannot change without this node being told first.
    """

    term: int = 0
    epoch: int = 0
    given: Given = Given.ANY
    granted: int = 0
    missed_after_ms: int = 0
    terms: Terms | None = None
    alone: bool = False


def given_by_start(kind: StartKind | None) -> Given:
    """The role that a start gives; which one a cluster node has is the cluster's own business."""
    if kind is StartKind.CLUSTER_NODE:
        return Given.ANY
    if kind is StartKind.WRITABLE_PRIMARY:
        return Given.PRIMARY
    return Given.REPLICA if kind is StartKind.REPLICA else Given.NONE


def is_elected(promise: Promise) -> bool:
    """Whether it is bound as a node of a cluster, whose servers elect their primaries."""
    return promise.terms is not None and promise.terms.elected


def may_grant(promise: Promise, epoch: int) -> bool:
    """Whether a primary may be let write in an epoch. Who never accepted an order nor read the record knows none."""
    return promise.epoch > 0 and epoch >= max(promise.epoch, promise.granted)


def render_promise(promise: Promise) -> str:
    """A promise as it is kept on file."""
    return msgspec.json.encode(promise).decode()


def parse_promise(text: str) -> Promise:
    """Read a promise back; raises ValueError for what nobody promised."""
    return msgspec.json.decode(text, type=Promise)
