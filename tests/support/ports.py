"""Ports of loopback for the servers that tests start."""

import contextlib
import random
import socket

PORTS = range(20_000, 30_000)
_GIVEN: set[int] = set()


def free_port() -> int:
    """A port for a server that may open it much later; never the same one twice, as it is free until then.

    Below those that the kernel hands out by itself: any outgoing connection could take one of them meanwhile.
    """
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port
    raise AssertionError(f"no port of {PORTS} is free")
