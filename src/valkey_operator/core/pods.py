"""A pod as plans and statuses need it.

Owns: the value. Refuses to know: how Kubernetes spells it (controllers/pods.py).
"""

import msgspec


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. `problem` is a sentence about why it does not come up, if Kubernetes says so."""

    name: str
    uid: str
    ip: str | None = None
    ready: bool = False
    leaving: bool = False
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
