"""A pod as plans and statuses need it.

Owns: the value. Refuses to know: how Kubernetes spells it (controllers/pods.py).
"""

from datetime import datetime

import msgspec


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. `problem` is a sentence about why it does not come up, if Kubernetes says so."""

    name: str
    uid: str
    ip: str | None = None
    ready: bool = False
    leaving: bool = False
    stops_at: datetime | None = None
    """When it is killed, if it leaves."""
    changed_at: datetime | None = None
    """When it last became ready or unready, or began to leave: what Services go by."""
    agent_started: bool = False
    server_started: bool = False
    roll_hash: str | None = None
    role: str | None = None
    machine: str | None = None
    """Kubernetes' own node that it runs on."""
    zone: str | None = None
    cordoned: bool = False
    """Its machine takes no new pods: somebody is about to empty it."""
    problem: str | None = None
