"""The states of a server as the agent beside it sees them; the operator reads the same words.

Owns: the words. Refuses to know: how a state is found (agent/watch.py, agent/server.py), and what follows from it.

| state    | means                                                        |
| -------- | ------------------------------------------------------------ |
| shut     | no server was seen since this agent began                    |
| waiting  | a process lives and does not listen: it stands at the gate   |
| starting | it was let in and does not listen yet                        |
| running  | it listens on the unix socket                                |
| gone     | the one that was there has died, and no other has come       |
"""

import enum


class ProcessState(enum.StrEnum):
    """See the table of this module."""

    SHUT = "shut"
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    GONE = "gone"


class Health(enum.StrEnum):
    """How the server answers. All but `UNREACHABLE` are alive; `HUNG` may be, and says nothing."""

    ANSWERS = "answers"
    LOADING = "loading"
    BUSY = "busy"
    HUNG = "hung"
    REFUSES = "refuses"
    UNREACHABLE = "unreachable"


class DiskError(enum.StrEnum):
    """What a server could not write to its disk; as a primary it refuses every write for it (MISCONF)."""

    SNAPSHOT = "snapshot"
    AOF = "aof"
