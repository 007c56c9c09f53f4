"""CLUSTER NODES, or nodes.conf, as a text that changes only when it says something else.

Owns: what of the text moves by itself. Refuses to know: what the rest means (cluster_nodes.py).
"""

SUSPECTED = "fail?"
_VARIABLES = "vars"
_PING, _PONG, _FIRST_SLOT_FIELD = 4, 5, 8


def stable_nodes(text: str) -> str:
    """The same nodes without the times of pings and pongs, in an order of their own: a server's changes as it grows."""
    return "\n".join(sorted(_without_times(line) for line in text.splitlines() if _is_node(line)))


def _is_node(line: str) -> bool:
    return bool(line) and not line.startswith(_VARIABLES)


def _without_times(line: str) -> str:
    words = line.split(" ")
    if len(words) >= _FIRST_SLOT_FIELD:
        words[_PING] = words[_PONG] = "0"
    return " ".join(words)
