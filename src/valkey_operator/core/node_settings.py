"""Whether a server has the live settings that it shall have, by the digest that its agent tells.

Owns: the comparison for one node. Refuses to know: whose nodes they are, and what follows from it.
"""

from valkey_operator.core.node_view import NodeView
from valkey_operator.valkey.states import Health, ProcessState


def has_others(view: NodeView | None, digest: str) -> bool:
    """Whether its server answers, and has other settings."""
    if view is None or view.process is not ProcessState.RUNNING or view.health is not Health.ANSWERS:
        return False
    return view.settings_digest is not None and view.settings_digest != digest


def has_taken(view: NodeView | None, digest: str) -> bool:
    """Whether its server has these."""
    return view is not None and view.settings_digest == digest


def may_have_server(view: NodeView | None, *, server_started: bool) -> bool:
    """Whether there is a server that could be asked; `server_started` counts where nothing was heard."""
    if view is None:
        return server_started
    return view.process is ProcessState.STARTING or view.settings_digest is not None
