"""The sidecar of every Valkey pod: the gate, the licence to write, watching the server, obeying orders.

Belongs here: only what must be done beside the server. It runs in every pod, so every import counts in memory.
Must not be here: topology decisions, or anything of this package but api, valkey, proto and wire.
"""
